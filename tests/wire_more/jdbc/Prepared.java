import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.Date;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;

/** Parameters of every kind; from the sixth time on the statement is the server's and its values come in binary. */
final class Prepared {
    private static final int TIMES = 8;

    private Prepared() {}

    private interface Setting {
        void set(PreparedStatement statement, int time) throws SQLException;
    }

    static void tell(Connection connection) throws SQLException {
        repeat(connection, "int", "SELECT count(*) FROM patients WHERE birth_year >= ?", (one, time) -> one.setInt(1, 1950 + time));
        repeat(connection, "long", "SELECT count(*) FROM patients WHERE birth_year >= ?", (one, time) -> one.setLong(1, 1950L + time));
        repeat(connection, "decimal", "SELECT count(*) FROM visits WHERE cost < ?",
                (one, time) -> one.setBigDecimal(1, new BigDecimal("1500.25").add(new BigDecimal(time))));
        repeat(connection, "double", "SELECT count(*) FROM visits WHERE cost < ?", (one, time) -> one.setDouble(1, 1500.25 + time));
        repeat(connection, "string", "SELECT count(*) FROM patients WHERE region = ?",
                (one, time) -> one.setString(1, time % 2 == 0 ? "north" : "south"));
        repeat(connection, "date", "SELECT count(*) FROM visits WHERE visit_date < ?",
                (one, time) -> one.setDate(1, Date.valueOf(LocalDate.of(2022, 1, 1).plusDays(time))));
        repeat(connection, "local date", "SELECT count(*) FROM visits WHERE visit_date < ?",
                (one, time) -> one.setObject(1, LocalDate.of(2022, 1, 1).plusDays(time)));
        repeat(connection, "timestamp", "SELECT count(*) FROM visits WHERE visit_date::timestamp < ?",
                (one, time) -> one.setTimestamp(1, Timestamp.valueOf(LocalDateTime.of(2022, 1, 1, 0, 30).plusDays(time))));
        repeat(connection, "local time", "SELECT count(*) FROM visits WHERE visit_date < ?",
                (one, time) -> one.setObject(1, LocalDateTime.of(2022, 1, 1, 0, 0).plusDays(time)));
        repeat(connection, "three", "SELECT count(*) FROM patients WHERE region = ? AND birth_year BETWEEN ? AND ?", (one, time) -> {
            one.setString(1, "east");
            one.setInt(2, 1950);
            one.setInt(3, 1970 + time);
        });
        repeat(connection, "in the answer", "SELECT count(*) + ? FROM patients", (one, time) -> one.setInt(1, time));
        repeat(connection, "on the twin", "SELECT ?::int + 1", (one, time) -> one.setInt(1, time));
        repeat(connection, "like", "SELECT count(*) FROM visits WHERE diagnosis LIKE ?", (one, time) -> one.setString(1, (char) ('a' + time) + "%"));
        repeat(connection, "part", "SELECT count(*) FROM (SELECT date_trunc(?, visit_date) AS part, count(*) FROM visits GROUP BY part) AS parts",
                (one, time) -> one.setString(1, time % 2 == 0 ? "year" : "month"));
        repeat(connection, "any", "SELECT count(*) FROM patients WHERE region = ANY (?)",
                (one, time) -> one.setArray(1, connection.createArrayOf("text", new String[] {"north", "west"})));
        shown(connection);
        described(connection);
        moments(connection);
    }

    private static void repeat(Connection connection, String about, String text, Setting setting) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            for (int time = 0; time < TIMES; time++) {
                setting.set(statement, time);
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    Asked.say(about, rows.getLong(1));
                }
            }
        }
    }

    /** Rows of many types, first as text and then in binary. */
    private static void shown(Connection connection) throws SQLException {
        String text = "SELECT date_trunc('year', visit_date)::date AS day, visit_date >= DATE '2023-01-01' AS late, count(*) AS n, sum(cost) AS total,"
                + " avg(cost)::float8 AS mean, ?::text AS word FROM visits GROUP BY 1, 2 ORDER BY 1";
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            for (int time = 0; time < TIMES; time++) {
                statement.setString(1, "w\u00f6rd");
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    Asked.say("shown", rows.getDate(1), rows.getBoolean(2), rows.getLong(3), rows.getBigDecimal(4),
                            Math.round(rows.getDouble(5) * 100), rows.getString(6), rows.getObject(1, LocalDate.class));
                }
            }
        }
    }

    private static void described(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(
                "SELECT region, sum(income) AS total FROM patients WHERE birth_year > ? AND region <> ? GROUP BY region")) {
            ParameterMetaData parameters = statement.getParameterMetaData();
            Asked.say("parameters", parameters.getParameterTypeName(1), parameters.getParameterTypeName(2));
            Asked.say("columns", statement.getMetaData().getColumnLabel(2), statement.getMetaData().getColumnTypeName(2),
                    statement.getMetaData().getTableName(1), statement.getMetaData().getColumnType(2) == Types.NUMERIC);
        }
    }

    /** Moments of another time zone than the server's: the client's is sent, and what comes back is the same moment. */
    private static void moments(Connection connection) throws SQLException {
        OffsetDateTime moment = OffsetDateTime.parse("2024-07-01T00:30:00+02:00");
        try (PreparedStatement statement = connection.prepareStatement(
                "SELECT count(*), ?::timestamptz AS at, (?::timestamptz)::date AS day FROM patients")) {
            for (int time = 0; time < TIMES; time++) {
                statement.setObject(1, moment);
                statement.setTimestamp(2, Timestamp.from(moment.toInstant()));
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    Asked.say("moment", rows.getTimestamp(2).toInstant(), rows.getObject(3, LocalDate.class));
                }
            }
        }
        try (PreparedStatement statement = connection.prepareStatement("SELECT count(*) FROM visits WHERE visit_date < ?")) {
            for (int time = 0; time < TIMES; time++) {
                statement.setTimestamp(1, Timestamp.from(moment.toInstant()));
                try (ResultSet rows = statement.executeQuery()) {
                    rows.next();
                    Asked.say("before the moment", rows.getLong(1));
                }
            }
        }
    }
}
