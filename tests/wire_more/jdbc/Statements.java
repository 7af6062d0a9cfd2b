import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;

/** Statements without parameters, several in one, and results that are fetched by and by. */
final class Statements {
    private Statements() {}

    static void tell(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            Asked.sayRows("zone", statement.executeQuery("SHOW TimeZone"));
            Asked.sayRows("version", statement.executeQuery("SHOW server_version_num"));
            Asked.sayRows("budget", statement.executeQuery("SHOW gateway.budget"), "account");
            String regions = "SELECT region, count(*) AS n, avg(income) AS mean FROM patients GROUP BY region ORDER BY region";
            Asked.sayShape("shape", statement.executeQuery(regions));
            Asked.sayRows("regions", statement.executeQuery(regions));
            Asked.sayRows("days", statement.executeQuery(
                    "SELECT date_trunc('year', visit_date) AS year, count(*) FROM visits GROUP BY 1 ORDER BY 1"));
        }
        try (Statement statement = connection.createStatement()) {
            try (ResultSet rows = statement.executeQuery(
                    "SELECT count(*)::int, count(*)::bigint, count(*)::numeric, count(*)::float8, count(*)::text, DATE '2024-02-29',"
                            + " TIMESTAMP '2024-02-29 12:30:00', TIMESTAMPTZ '2024-02-29 12:30:00', true FROM patients")) {
                rows.next();
                Asked.say("values", rows.getInt(1), rows.getLong(2), rows.getBigDecimal(3), rows.getDouble(4), rows.getString(5),
                        rows.getDate(6), rows.getTimestamp(7), rows.getTimestamp(8).toInstant(), rows.getBoolean(9));
            }
            boolean hasRows = statement.execute("SELECT 1; SELECT count(*) FROM patients; SET gateway.epsilon = '1e29'; SELECT count(*) FROM visits");
            while (hasRows || statement.getUpdateCount() != -1) {
                if (hasRows) {
                    Asked.sayRows("several", statement.getResultSet());
                } else {
                    Asked.say("several", "updated " + statement.getUpdateCount());
                }
                hasRows = statement.getMoreResults();
            }
            Asked.sayRows("kept", statement.executeQuery("SHOW gateway.epsilon"));
            statement.setMaxRows(2);
            Asked.sayRows("most rows", statement.executeQuery("SELECT region, count(*) FROM patients GROUP BY region ORDER BY region"));
            statement.setMaxRows(0);
            statement.addBatch("SET gateway.purpose = 'care-quality'");
            statement.addBatch("SET application_name = 'batch'");
            Asked.say("batch", statement.executeBatch().length);
            Asked.sayRows("plan", statement.executeQuery("EXPLAIN SELECT count(*) FROM patients"));
        }
        try (Connection simple = Asked.connect("?preferQueryMode=simple"); Statement statement = simple.createStatement()) {
            Asked.sayRows("simple", statement.executeQuery("SELECT count(*) FROM visits"));
        }
        try (Connection extended = Asked.connect("?preferQueryMode=extendedForPrepared&binaryTransfer=true&ApplicationName=tool");
                Statement statement = extended.createStatement()) {
            Asked.sayRows("extended", statement.executeQuery("SELECT count(*) FROM visits"));
        }
        try (Statement scrolling = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY);
                ResultSet rows = scrolling.executeQuery("SELECT region, count(*) FROM patients GROUP BY region ORDER BY region")) {
            rows.last();
            Asked.say("scrolled", rows.getRow(), rows.getString(1));
            rows.first();
            Asked.say("scrolled", rows.getRow(), rows.getString(1), rows.getMetaData().getColumnType(2) == Types.BIGINT);
        }
    }

    static void cursors(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(10);
            Asked.sayRows("years", statement.executeQuery("SELECT birth_year, count(*) AS n FROM patients GROUP BY birth_year ORDER BY birth_year"));
            // two that are open at once
            try (Statement other = connection.createStatement()) {
                other.setFetchSize(1);
                ResultSet first = statement.executeQuery("SELECT region, count(*) FROM patients GROUP BY region ORDER BY region");
                ResultSet second = other.executeQuery("SELECT diagnosis, count(*) FROM visits WHERE diagnosis IS NOT NULL GROUP BY diagnosis ORDER BY diagnosis");
                while (first.next() && second.next()) {
                    Asked.say("together", first.getString(1), first.getLong(2), second.getString(1), second.getLong(2));
                }
            }
            Asked.sayRows("of a series", statement.executeQuery("SELECT g FROM generate_series(1, 25) AS g"));
        }
        connection.commit();
    }
}
