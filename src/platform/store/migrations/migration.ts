/**
 * The type of a migration: one step of the schema, in a file `<name>.ts` in this folder. It is a module and not a `.sql`
 * file, so that it is compiled and type-checked like everything else and the build has no files to copy.
 */

export interface Migration {
  /** UTC minute and topic, `202611201230-accounts`: the order in which migrations are applied. */
  readonly name: string
  /** One or more statements, each allowed in a transaction. Never changed once released: its checksum is stored. */
  readonly text: string
}
