/**
 * A movement's parties: its originator and beneficiary, as the screening hook and the executor get them. A payment
 * without parties of its own takes those of its destination when it is first screened. They are accepted only while
 * `screening.url` is set, and stored encrypted and bound to the movement or destination they were given with.
 */
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { type EncryptionKey, EncryptionKeyProblem } from '../../access/clients/encryption-key.ts'
import { operatorOf } from '../../access/clients/operator-calls.ts'
import { type FieldError, Problem } from '../../platform/http/problem.ts'
import type { Kysely, Transaction } from '../../platform/store/db.ts'
import { type RawBuilder, sql } from '../../platform/store/sql.ts'
import { inserting } from '../../platform/store/unnested.ts'

const strict = { additionalProperties: false }
const Text = Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 }))
const Party = Type.Object({ name: Text, type: Text, address: Text, account: Text, institution: Text }, strict)

export const Parties = Type.Object(
  { originator: Type.Optional(Party), beneficiary: Type.Optional(Party) },
  {
    ...strict,
    description: 'Passed to the screening and to the executor. At most 4 KiB, only while `screening.url` is set',
  },
)

type PartiesBody = Static<typeof Parties>

const BYTES_MAX = 4_096

/** What a process needs to accept parties. */
export interface PartiesSettings {
  /** Whether `screening.url` is set. */
  readonly isScreening: boolean
  readonly encryptionKey: EncryptionKey | undefined
}

/** None are accepted. */
export const NO_PARTIES: PartiesSettings = { isScreening: false, encryptionKey: undefined }

/**
 * How they are read: `kept` in a change request's record, which is not encrypted, names them without what they say.
 * What another key has encrypted is left out of both. `sent` to hook and executor never leaves anything out.
 */
export type PartiesForm = 'shown' | 'kept' | 'sent'

/** For a call that shows a record. */
export function partiesFormFor(request: FastifyRequest): PartiesForm {
  return operatorOf(request).keepsRecord === true ? 'kept' : 'shown'
}

/** Encrypts accepted parties for their movement or destination, whose id is not known yet. */
export type SealedParties = (id: string) => string

/**
 * Returns the function that encrypts the parties, or why they are not accepted.
 *
 * @throws {Problem} 503 without a key
 */
export function readParties(
  parties: PartiesBody,
  { isScreening, encryptionKey: key }: PartiesSettings,
): SealedParties | FieldError {
  const pointer = '/parties'
  if (!isScreening) return { pointer, detail: 'is not accepted: movements are not screened' }
  const bytes = Buffer.from(JSON.stringify(parties))
  if (bytes.length > BYTES_MAX) return { pointer, detail: `must have at most ${BYTES_MAX} bytes as JSON` }
  if (key === undefined) throw keyMissing('cannot store parties')
  return (id) => key.encrypt(bytes, rowOf(id))
}

/** Stores the movements' parties. Known ones stay. */
export async function storeParties<Tables>(
  transaction: Transaction<Tables>,
  movements: readonly { readonly id: string; readonly sealed: SealedParties }[],
): Promise<void> {
  if (movements.length === 0) return
  const rows = inserting('movement_parties', movements, [
    ['movement_id', 'uuid', ({ id }) => id],
    ['parties', 'text', ({ id, sealed }) => sealed(id)],
  ])
  await sql`${rows} on conflict (movement_id) do nothing`.execute(transaction)
}

/**
 * Gives a movement the parties that came with another one. Those of a destination are not copied: the movement takes
 * the ones that its destination then has.
 *
 * @throws {Problem} 503 without the key with which they were encrypted
 */
export async function copyParties<Tables>(
  transaction: Transaction<Tables>,
  from: string,
  to: string,
  key: EncryptionKey | undefined,
): Promise<void> {
  const { rows } = await sql<{ readonly parties: string }>`
    select parties from movement_parties where movement_id = ${from} and destination_id is null
  `.execute(transaction)
  const [row] = rows
  if (row === undefined) return
  const bytes = Buffer.from(openParties(row.parties, from, key))
  await storeParties(transaction, [{ id: to, sealed: (id) => (key as EncryptionKey).encrypt(bytes, rowOf(id)) }])
}

/** The first characters of what this key has encrypted. No text has those without a key. */
function startOf(key: EncryptionKey | undefined): string {
  return `tg1.${key?.id ?? ''}.`
}

/**
 * The parties' JSON texts, by movement. Those without parties are absent.
 *
 * @throws {Problem} 503 without the key with which they were encrypted, when they are sent
 */
export async function partiesOf<Tables>(
  tables: Kysely<Tables>,
  ids: readonly string[],
  key: EncryptionKey | undefined,
  form: PartiesForm,
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ readonly movement_id: string; readonly bound_to: string; readonly parties: string }>`
    select movement_id, coalesce(destination_id, movement_id) as bound_to, parties
    from movement_parties where movement_id = any(${[...ids]}::uuid[])
  `.execute(tables)
  const read = form === 'sent' ? rows : rows.filter(({ parties }) => parties.startsWith(startOf(key)))
  return new Map(
    read.map(({ movement_id, bound_to, parties }) => {
      const text = openParties(parties, bound_to, key)
      return [movement_id, form === 'kept' ? keptText(text) : text]
    }),
  )
}

/** Whether the movement with this id has no parties, or parties that this key can decrypt. */
export function hasReadableParties(id: RawBuilder<unknown>, key: EncryptionKey | undefined): RawBuilder<boolean> {
  return sql<boolean>`not exists (
    select from movement_parties where movement_id = ${id} and not starts_with(parties, ${startOf(key)})
  )`
}

/** Known parties stay, so their names are enough to see a change. */
function keptText(text: string): string {
  return JSON.stringify(Object.fromEntries(Object.keys(JSON.parse(text) as object).map((name) => [name, {}])))
}

/** An object's JSON text with the parties as its last member. */
export function withParties(text: string, parties: string | undefined): string {
  return parties === undefined ? text : `${text.slice(0, -1)},"parties":${parties}}`
}

/**
 * Decrypts parties bound to this id.
 *
 * @throws {Problem} 503 without the key with which they were encrypted
 */
export function openParties(text: string, id: string, key: EncryptionKey | undefined): string {
  if (key === undefined) throw keyMissing('cannot read parties')
  try {
    return key.decrypt(text, rowOf(id)).toString()
  } catch (error) {
    if (error instanceof EncryptionKeyProblem) throw keyMissing('cannot read parties, encrypted with another key')
    throw error
  }
}

function keyMissing(what: string): Problem {
  return new Problem('encryption_key_missing', `this process ${what}: the operator must set keys.encryption_key`)
}

function rowOf(id: string): string {
  return `movement_parties.parties/${id}`
}
