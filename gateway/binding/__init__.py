"""From SQL text to a labelled plan: releases of private aggregates and one finishing statement."""
