"""The one path from a request to an answer, and the values it gives."""

from adamroute.recommender.answers import Explanation, Recommendation, RecommendedItem, Routing
from adamroute.recommender.path import Recommender

__all__ = ["Explanation", "Recommendation", "RecommendedItem", "Recommender", "Routing"]
