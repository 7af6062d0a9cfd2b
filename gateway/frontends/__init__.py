"""Front ends: REST and the PostgreSQL wire protocol. Each turns refusals into its protocol's errors."""
