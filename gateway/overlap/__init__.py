"""Overlap audit: would the answer to a query, combined with earlier answers, isolate too few people?"""
