import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

/** COPY by the driver's own interface, and the escapes of JDBC. */
final class Copies {
    private static final String REGIONS = "SELECT region, count(*) AS n FROM patients GROUP BY region ORDER BY region";

    private Copies() {}

    static void tell(Connection connection) throws Exception {
        CopyManager copies = connection.unwrap(PGConnection.class).getCopyAPI();
        copy(copies, "csv", "COPY (" + REGIONS + ") TO STDOUT WITH (FORMAT csv, HEADER)");
        copy(copies, "text", "COPY (" + REGIONS + ") TO STDOUT");
        copy(copies, "of rows", "COPY patients TO STDOUT");
        copy(copies, "into", "COPY patients FROM STDIN");
        copy(copies, "after", "COPY (SELECT count(*) FROM visits) TO STDOUT");
        try (Statement statement = connection.createStatement()) {
            Asked.sayRows("escapes", statement.executeQuery("SELECT count(*) FROM visits WHERE visit_date >= {d '2023-01-01'}"
                    + " AND visit_date < {ts '2024-01-01 00:00:00'}"));
            Asked.sayRows("functions", statement.executeQuery("SELECT {fn ucase('a')}, {fn year(visit_date)} AS year, count(*) FROM visits GROUP BY 2 ORDER BY 2"));
        }
        try (Statement statement = connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY, ResultSet.HOLD_CURSORS_OVER_COMMIT)) {
            connection.setAutoCommit(false);
            statement.setFetchSize(1);
            statement.execute("DECLARE held CURSOR WITH HOLD FOR " + REGIONS);
            connection.commit();
            Asked.sayRows("held", statement.executeQuery("FETCH 2 FROM held"));
            Asked.sayRows("held", statement.executeQuery("FETCH ALL FROM held"));
            statement.execute("CLOSE held");
            connection.commit();
        }
    }

    private static void copy(CopyManager copies, String about, String text) throws Exception {
        ByteArrayOutputStream came = new ByteArrayOutputStream();
        try {
            long rows = copies.copyOut(text, came);
            Asked.say(about, rows, came.toString(StandardCharsets.UTF_8).replace("\n", "|").replace("\t", ","));
        } catch (SQLException error) {
            Asked.sayError(about, error);
        }
    }
}
