"""What pyproject.toml cannot say: `migrations/` stands at the top for people and is installed as
`gateway_migrations`, so that `gateway db upgrade` finds it wherever the project is installed.
"""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["gateway*"]),
        "gateway_migrations",
        "gateway_migrations.versions",
    ],
    package_dir={"gateway_migrations": "migrations"},
)
