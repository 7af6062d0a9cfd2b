-- A fleet of devices with a shop, as an ORM such as Prisma makes its tables: names in mixed case, times with three digits
-- of a second, enums, keys of texts and uuids, and no foreign keys.
CREATE TYPE "DeviceKind" AS ENUM ('THERMOSTAT', 'METER', 'CAMERA');
CREATE TABLE "User" (
    "id" text PRIMARY KEY, "email" text NOT NULL UNIQUE, "name" text, "birthYear" integer,
    "createdAt" timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE "Device" (
    "id" uuid PRIMARY KEY, "ownerId" text NOT NULL, "kind" "DeviceKind" NOT NULL, "settings" jsonb,
    "installedAt" timestamptz(6)
);
CREATE TABLE "Reading" (
    "id" bigserial PRIMARY KEY, "deviceId" uuid NOT NULL, "takenAt" timestamptz NOT NULL, "celsius" double precision
);
CREATE TABLE "Product" ("id" serial PRIMARY KEY, "title" text NOT NULL, "price" numeric(8,2));
CREATE TABLE "Order" ("id" text PRIMARY KEY, "userId" text NOT NULL, "createdAt" timestamp(3) NOT NULL, "fiscalYear" integer);
CREATE TABLE "OrderItem" (
    "id" text PRIMARY KEY, "orderId" text NOT NULL, "productId" integer NOT NULL, "quantity" integer NOT NULL
);
CREATE TABLE "_prisma_migrations" ("id" varchar(36) PRIMARY KEY, "finished_at" timestamptz, "logs" text);
