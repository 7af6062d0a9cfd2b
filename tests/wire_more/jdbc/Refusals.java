import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.Map;
import java.util.TreeMap;

/** What does not work, and how an application hears of it. */
final class Refusals {
    private static final Map<String, String> REFUSED = new TreeMap<>(Map.ofEntries(
            Map.entry("rows", "SELECT * FROM patients"),
            Map.entry("no table", "SELECT count(*) FROM secrets"),
            Map.entry("no column", "SELECT count(salary) FROM patients"),
            Map.entry("syntax", "SELEC count(*) FROM patients"),
            Map.entry("delete", "DELETE FROM patients"),
            Map.entry("table", "CREATE TABLE t (a int)"),
            Map.entry("function", "SELECT pg_read_file('/etc/hostname')"),
            Map.entry("division", "SELECT 1 / 0"),
            Map.entry("type", "SELECT count(*) FROM patients WHERE birth_year = 'x'"),
            Map.entry("setting", "SET work_mem = '1GB'")));

    private Refusals() {}

    static void tell(Connection connection) throws SQLException {
        for (Map.Entry<String, String> one : REFUSED.entrySet()) {
            try (Statement statement = connection.createStatement()) {
                statement.execute(one.getValue());
                Asked.say(one.getKey(), "no error");
            } catch (SQLException error) {
                Asked.sayError(one.getKey(), error);
            }
        }
        inTransactions(connection);
    }

    private static void inTransactions(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            Asked.sayRows("before", statement.executeQuery("SELECT count(*) FROM patients"));
            Savepoint here = connection.setSavepoint("here");
            refused("inside", statement, "SELECT income FROM patients");
            refused("failed", statement, "SELECT count(*) FROM patients");
            refused("failed", statement, "SELECT 1");
            connection.rollback(here);
            Asked.sayRows("rolled back", statement.executeQuery("SELECT count(*) FROM patients"));
            refused("inside", statement, "SELECT nothing");
            connection.rollback();
            Asked.sayRows("after", statement.executeQuery("SELECT count(*) FROM patients"));
            connection.commit();
        }
        connection.setReadOnly(true);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        try (Statement statement = connection.createStatement()) {
            Asked.sayRows("read only", statement.executeQuery("SELECT count(*) FROM patients"));
        }
        connection.rollback();
        connection.setAutoCommit(true);
        try (Connection stubborn = Asked.connect("?autosave=always"); Statement statement = stubborn.createStatement()) {
            stubborn.setAutoCommit(false);
            statement.executeQuery("SELECT 1").close();
            refused("saved", statement, "SELECT income FROM patients");
            Asked.sayRows("goes on", statement.executeQuery("SELECT count(*) FROM patients"));
        }
    }

    private static void refused(String about, Statement statement, String text) {
        try {
            statement.executeQuery(text);
            Asked.say(about, "no error");
        } catch (SQLException error) {
            Asked.say(about, error.getSQLState());
        }
    }
}
