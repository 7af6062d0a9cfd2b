import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** What pgjdbc does at the gateway, one subject a run; each fact is a line of fields with tabs between them. */
final class Asked {
    private Asked() {}

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = connect("")) {
            switch (arguments[0]) {
                case "catalog" -> Catalog.tell(connection);
                case "statements" -> Statements.tell(connection);
                case "prepared" -> Prepared.tell(connection);
                case "copies" -> Copies.tell(connection);
                case "cursors" -> Statements.cursors(connection);
                case "stopping" -> Stopping.tell(connection);
                case "refusals" -> Refusals.tell(connection);
                default -> throw new IllegalArgumentException(arguments[0]);
            }
        }
    }

    /** As an application connects: by URL and user, whatever it sets besides. */
    static Connection connect(String options) throws SQLException {
        Properties who = new Properties();
        who.setProperty("user", System.getenv("PGUSER"));
        who.setProperty("password", System.getenv("PGPASSWORD"));
        String place = System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        return DriverManager.getConnection("jdbc:postgresql://" + place + options, who);
    }

    static void say(String about, Object... values) {
        StringBuilder line = new StringBuilder(about);
        for (Object value : values) {
            line.append('\t').append(value);
        }
        System.out.println(line);
    }

    /** All rows, each with the values of some columns, or of all. */
    static void sayRows(String about, ResultSet rows, String... columns) throws SQLException {
        try (rows) {
            List<String> names = new ArrayList<>(List.of(columns));
            ResultSetMetaData shape = rows.getMetaData();
            for (int place = 1; columns.length == 0 && place <= shape.getColumnCount(); place++) {
                names.add(shape.getColumnLabel(place));
            }
            while (rows.next()) {
                Object[] values = new Object[names.size()];
                for (int place = 0; place < values.length; place++) {
                    values[place] = rows.getString(names.get(place));
                }
                say(about, values);
            }
        }
    }

    /** Names and types of the columns of a result. */
    static void sayShape(String about, ResultSet rows) throws SQLException {
        ResultSetMetaData shape = rows.getMetaData();
        for (int place = 1; place <= shape.getColumnCount(); place++) {
            say(about, shape.getColumnLabel(place), shape.getColumnTypeName(place), shape.getColumnClassName(place));
        }
    }

    /** What an application sees of an error. */
    static void sayError(String about, SQLException error) {
        ServerErrorMessage told = error instanceof PSQLException one ? one.getServerErrorMessage() : null;
        if (told == null) {
            say(about, error.getSQLState(), error.getMessage());
        } else {
            say(about, error.getSQLState(), told.getSeverity(), told.getMessage(), told.getDetail(), told.getHint());
        }
    }
}
