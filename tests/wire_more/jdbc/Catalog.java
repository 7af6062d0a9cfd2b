import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;

/** What a tool asks before anybody asked anything. */
final class Catalog {
    private Catalog() {}

    static void tell(Connection connection) throws SQLException {
        DatabaseMetaData about = connection.getMetaData();
        Asked.say("product", about.getDatabaseProductName(), about.getDatabaseMajorVersion() >= 16);
        Asked.say("user", about.getUserName());
        Asked.say("functions", about.getNumericFunctions().contains("abs"), about.getSQLKeywords().contains("analyse"));
        Asked.say("length", about.getMaxColumnNameLength());
        Asked.sayRows("catalogs", about.getCatalogs());
        Asked.sayRows("schemas", about.getSchemas(), "TABLE_SCHEM");
        Asked.sayRows("table types", about.getTableTypes());
        Asked.sayRows("tables", about.getTables("clinic", "public", "%", new String[] {"TABLE", "VIEW"}), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE");
        Asked.sayRows("any table", about.getTables(null, null, "%", new String[] {"TABLE"}), "TABLE_SCHEM", "TABLE_NAME");
        Asked.sayRows("columns", about.getColumns("clinic", "public", "visits", "%"), "COLUMN_NAME", "TYPE_NAME", "DATA_TYPE", "COLUMN_SIZE", "DECIMAL_DIGITS", "IS_NULLABLE", "ORDINAL_POSITION");
        Asked.sayRows("some columns", about.getColumns(null, null, "%", "region"), "TABLE_NAME", "COLUMN_NAME");
        Asked.sayRows("patients' keys", about.getPrimaryKeys(null, "public", "patients"), "TABLE_NAME", "COLUMN_NAME", "KEY_SEQ");
        Asked.sayRows("imported keys", about.getImportedKeys(null, "public", "visits"), "PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME");
        Asked.sayRows("exported keys", about.getExportedKeys(null, "public", "patients"), "PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME");
        Asked.sayRows("indexes", about.getIndexInfo(null, "public", "patients", false, true), "TABLE_NAME", "NON_UNIQUE", "COLUMN_NAME");
        Asked.sayRows("best row", about.getBestRowIdentifier(null, "public", "patients", DatabaseMetaData.bestRowSession, false), "COLUMN_NAME", "TYPE_NAME");
        Asked.sayRows("types", about.getTypeInfo(), "TYPE_NAME", "DATA_TYPE");
        Asked.sayRows("privileges", about.getTablePrivileges(null, "public", "visits"), "TABLE_NAME", "PRIVILEGE");
        Asked.sayRows("procedures", about.getProcedures(null, "public", "%"), "PROCEDURE_NAME");
        Asked.sayRows("user types", about.getUDTs(null, "public", "%", null), "TYPE_NAME");
        Asked.sayRows("client info", about.getClientInfoProperties(), "NAME");
        Asked.say("schema", connection.getSchema(), connection.getCatalog());
        Asked.say("valid", connection.isValid(5));
    }
}
