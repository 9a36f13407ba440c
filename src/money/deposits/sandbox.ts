/**
 * Sandbox deposits, with the setting `rest.sandbox`: invented payments, recorded like reported ones. A customer's
 * `ref_id` names one payment, so a repeated request creates nothing.
 */
import { createHash, randomBytes } from 'node:crypto'
import { isFiat } from '../../contract/assets.ts'
import { CRYPTO_NETWORKS, type CryptoNetwork, networkNamed } from '../../contract/crypto-networks.ts'
import { type FieldError, invalidRequest, Problem } from '../../platform/http/problem.ts'
import type { Db, Transaction } from '../../platform/store/db.ts'
import { transactionWithRetries } from '../../platform/store/retry.ts'
import { sql } from '../../platform/store/sql.ts'
import { storedForms } from '../deposit-instructions/derivation/address-validity.ts'
import { formatAmount } from '../ledger/amounts.ts'
import { getTransfer } from '../transfers/lists.ts'
import { attribute } from './attribution.ts'
import { assignDeposit } from './operator-actions.ts'
import { type DepositSettings, type Outcome, recordReports } from './record.ts'
import { isReport, type Report, readReport, SANDBOX_SOURCE } from './report.ts'
import type { SandboxDepositBody } from './schemas.ts'
import type { DepositTables } from './tables.ts'
import { repeatLostRaces } from './writes.ts'

/** Amounts that force a deposit's result. Those for delivery results are in `money/deliveries/sandbox-executor`. */
const MAGIC_AMOUNTS = { held: '11.01', failed: '11.02', belowMinimum: '11.03' } as const

/** The actor in the audit trail: a sandbox deposit is recorded as if the operator had reported it. */
const ACTOR = 'operator'

/**
 * Creates a deposit for this customer's profile, and returns its id.
 *
 * @throws {Problem} 409 with the existing deposit for a repeated `ref_id`
 */
export async function makeSandboxDeposit(
  db: Db,
  customerId: string,
  profileId: string,
  body: SandboxDepositBody,
  settings: DepositSettings,
): Promise<string> {
  try {
    const make = async (transaction: Transaction<DepositTables>): Promise<string> => {
      await requireProfile(transaction, customerId, profileId)
      const key = body.ref_id === undefined ? randomBytes(32) : keyOf(customerId, body.ref_id)
      const report = await reportOf(transaction, profileId, body, settings, key.toString('hex'))
      return await record(transaction, profileId, report, settings)
    }
    return await repeatLostRaces(() => transactionWithRetries(db, make))
  } catch (error) {
    if (!(error instanceof RefIdTaken)) throw error
    const existing: unknown = JSON.parse((await getTransfer(db, customerId, error.depositId)) as string)
    throw new Problem('already_exists', 'ref_id: a sandbox deposit with this ref_id exists', { meta: { existing } })
  }
}

/** Rolls the transaction back, so the repeated report does not change the existing deposit. */
class RefIdTaken extends Error {
  readonly depositId: string

  constructor(depositId: string) {
    super('a sandbox deposit with this ref_id exists')
    this.depositId = depositId
  }
}

async function record(
  transaction: Transaction<DepositTables>,
  profileId: string,
  report: Report,
  settings: DepositSettings,
): Promise<string> {
  const { decimals = 0 } = settings.conversions.assets.find(({ symbol }) => symbol === report.asset) ?? {}
  const amount = formatAmount(report.amount, decimals)
  const isFailed = amount === MAGIC_AMOUNTS.failed
  const isBelow = amount === MAGIC_AMOUNTS.belowMinimum
  const applied: DepositSettings = isBelow ? { ...settings, minimumOf: () => report.amount + 1n } : settings
  const hold = amount === MAGIC_AMOUNTS.held ? { holdReason: 'the magic amount' } : {}
  const first: Report = { ...report, ...hold, ...(isFailed ? { status: 'PENDING' } : {}) }
  const [outcome] = await recordReports(transaction, [first], applied)
  const { depositId, kind } = outcome as Outcome
  if (kind !== 'created') throw new RefIdTaken(depositId)
  const [attribution] = await attribute(transaction, [report])
  if (attribution === undefined) {
    await assignDeposit(transaction, ACTOR, depositId, { profileId, runsRules: true }, applied)
  }
  if (isFailed) await recordReports(transaction, [{ ...report, status: 'FAILED' }], applied)
  return depositId
}

/** The external id and payment hash derived from a customer's `ref_id`: the same each time. */
function keyOf(customerId: string, refId: string): Buffer {
  return createHash('sha256').update(`${customerId}\n${refId}`).digest()
}

async function requireProfile(
  transaction: Transaction<DepositTables>,
  customerId: string,
  profileId: string,
): Promise<void> {
  const { rows } = await sql`
    select from profiles where id = ${profileId} and customer_id = ${customerId}
  `.execute(transaction)
  if (rows.length === 0) throw new Problem('not_found', 'there is no profile with this id')
}

/** The report that custody or a bank would send for the payment. */
async function reportOf(
  transaction: Transaction<DepositTables>,
  profileId: string,
  body: SandboxDepositBody,
  settings: DepositSettings,
  key: string,
): Promise<Report> {
  const { assets } = settings.conversions
  const asset = assets.find(({ symbol }) => symbol === body.asset)
  if (asset === undefined) {
    const symbols = assets.map(({ symbol }) => symbol).join(', ')
    throw invalidRequest([{ pointer: '/asset', detail: `must be one of ${symbols}` }])
  }
  const isBank = isFiat(asset)
  if (isBank) refuse(body, ['crypto_network', 'crypto_address'], 'is not allowed for a fiat asset')
  else refuse(body, ['memo_id'], 'is allowed only for a fiat asset')
  const common = {
    source: SANDBOX_SOURCE,
    external_id: key,
    asset: body.asset,
    amount: body.amount,
    occurred_at: new Date().toISOString(),
  }
  const way = isBank
    ? { fiat: { network: 'WIRE' as const, ...(await memoOf(transaction, profileId, body)) } }
    : { crypto: await paymentTo(transaction, profileId, body, asset.networks, key) }
  const read = readReport({ ...common, ...way }, assets, ACTOR)
  if (!isReport(read)) throw invalidRequest(inBody(read))
  return read
}

type Faults = readonly [FieldError, ...FieldError[]]

/** The report's faults, with pointers to the request's members. */
function inBody(faults: Faults): Faults {
  const place = (fault: FieldError): FieldError => {
    if (!('pointer' in fault)) return fault
    const pointer = fault.pointer.replace('/crypto/', '/crypto_').replace('/fiat/', '/')
    return { pointer, detail: fault.detail }
  }
  const [first, ...others] = faults
  return [place(first), ...others.map(place)]
}

function refuse(body: SandboxDepositBody, members: readonly (keyof SandboxDepositBody)[], detail: string): void {
  const member = members.find((name) => body[name] !== undefined)
  if (member !== undefined) throw invalidRequest([{ pointer: `/${member}`, detail }])
}

async function memoOf(
  transaction: Transaction<DepositTables>,
  profileId: string,
  { memo_id }: SandboxDepositBody,
): Promise<{ readonly memo_id?: string }> {
  if (memo_id === undefined) return {}
  const { rows } = await sql`
    select from fiat_instructions where memo_id = ${memo_id} and profile_id = ${profileId}
  `.execute(transaction)
  if (rows.length === 0) throw notOfProfile('/memo_id', 'is not one of this profile’s memos')
  return { memo_id }
}

async function paymentTo(
  transaction: Transaction<DepositTables>,
  profileId: string,
  { crypto_network, crypto_address }: SandboxDepositBody,
  carriers: readonly CryptoNetwork[],
  key: string,
) {
  const wanted = crypto_network === undefined ? undefined : networkNamed(crypto_network)
  const networks = wanted === undefined ? carriers : [wanted]
  const families = [...new Set(networks.map((network) => CRYPTO_NETWORKS[network]))]
  const forms =
    crypto_address === undefined ? undefined : families.flatMap((family) => storedForms(family, crypto_address))
  const { rows } = await sql<{ readonly network: CryptoNetwork; readonly address: string }>`
    select crypto_network as network, address from deposit_addresses
    where profile_id = ${profileId}
      and family = any(${families}::text[])
      and (${forms === undefined} or address = any(${forms ?? []}::text[]))
    order by crypto_network = any(${networks}::text[]) desc, created_at desc, id desc limit 1
  `.execute(transaction)
  const [found] = rows
  if (found === undefined) {
    if (crypto_address !== undefined)
      throw notOfProfile('/crypto_address', 'is not one of this profile’s deposit addresses')
    throw notOfProfile('/crypto_network', 'the profile has no deposit address on this network. Create one first')
  }
  const network = wanted ?? (carriers.includes(found.network) ? found.network : (carriers[0] as CryptoNetwork))
  return { network, address: found.address, tx_hash: hashFor(network, key), tx_index: 0 }
}

/** 64 hexadecimal digits as a hash in the network's form. Base58 has no 0. */
function hashFor(network: CryptoNetwork, digits: string): string {
  return CRYPTO_NETWORKS[network] === 'solana' ? digits.replaceAll('0', 'z') : digits
}

function notOfProfile(pointer: string, detail: string): Problem {
  return new Problem('not_found', `${pointer}: ${detail}`, { errors: [{ pointer, detail }] })
}
