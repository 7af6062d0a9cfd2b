#!/bin/sh
# Installs what the tests here run: packages of Debian where root asks, everything else below one directory.
#   tests/wire_more/install.sh [DIRECTORY]      default: .e2e in the checkout
set -eu

here=$(cd "$(dirname "$0")" && pwd)
into=${1:-$here/../../.e2e}
python=${PYTHON:-python3}
packages="libpostgresql-jdbc-java odbc-postgresql unixodbc"

need() { # a program, and the package that has it
    command -v "$1" >/dev/null || packages="$packages $2"
}

need javac default-jdk-headless
need node nodejs
need npm npm
missing=""
for package in $packages; do
    dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing="$missing $package"
done
if [ -n "$missing" ]; then
    if [ "$(id -u)" != 0 ]; then
        echo "as root: apt-get install$missing" >&2
        exit 1
    fi
    apt-get update -q
    # shellcheck disable=SC2086  # a list of names
    DEBIAN_FRONTEND=noninteractive apt-get install -q --yes --no-install-recommends $missing
fi

mkdir -p "$into"
into=$(cd "$into" && pwd)

environment() { # an environment of its own for each lock: what is in it is as it is written there
    mark="$into/$1/$(cksum <"$here/$1/requirements.lock" | tr ' ' -)"
    if [ ! -e "$mark" ]; then
        rm -rf "${into:?}/$1"
        "$python" -m venv "$into/$1"
        "$into/$1/bin/python" -m pip --disable-pip-version-check install --quiet --requirement "$here/$1/requirements.lock"
        touch "$mark"
    fi
}

environment odbc
environment dbt
environment superset
environment pgadmin

mkdir -p "$into/node"
cp "$here/node/package.json" "$here/node/package-lock.json" "$into/node"
npm ci --prefix "$into/node" --no-audit --no-fund --silent

# Superset's own database with one user in it, which every run begins with a copy of
if [ ! -e "$into/superset/made.db" ]; then
    rm -f "$into/superset/begun.db"
    superset() {
        env SUPERSET_CONFIG_PATH="$here/superset/superset_config.py" SUPERSET_HOME="$into/superset" \
            SUPERSET_FILE="$into/superset/begun.db" FLASK_APP=superset PYTHONDONTWRITEBYTECODE=1 \
            "$into/superset/bin/superset" "$@" >"$into/superset/made.log" 2>&1 || { cat "$into/superset/made.log" >&2; exit 1; }
    }
    superset db upgrade
    superset fab create-admin --username dave --firstname Dave --lastname D --email dave@gateway.test --password dave
    superset init
    mv "$into/superset/begun.db" "$into/superset/made.db"
fi
