import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** A statement that would take for ever, stopped by the application and by its own clock. */
final class Stopping {
    private static final String FOR_EVER = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b";

    private Stopping() {}

    static void tell(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            stopped("timeout", statement);
            statement.setQueryTimeout(0);
            ExecutorService other = Executors.newSingleThreadExecutor();
            other.submit(() -> {
                TimeUnit.MILLISECONDS.sleep(500);
                statement.cancel();
                return null;
            });
            stopped("cancel", statement);
            other.shutdown();
            other.awaitTermination(10, TimeUnit.SECONDS);
            Asked.sayRows("after", statement.executeQuery("SELECT count(*) FROM patients"));
        }
    }

    private static void stopped(String about, Statement statement) {
        try {
            statement.executeQuery(FOR_EVER);
            Asked.say(about, "it ended");
        } catch (SQLException error) {
            Asked.say(about, error.getSQLState());
        }
    }
}
