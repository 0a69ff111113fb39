"""Leanings that tests share."""

from adamroute.leaning import Leaning

AS_MEAN = Leaning(scale=0.5, reach=0.5)  # alpha is the mean of the distribution
ALL_THE_WAY = Leaning(scale=0.05, reach=0.5)  # a mean of .55 is already sent to text alone
