/**
 * Creates orchestrations at a customer's request. The amount moves from the available to the reserved balance in the
 * request's transaction, so money is never committed twice. A `ref_id` that was used before is 409 with the existing
 * record, whatever the balance, the account and the destination are by now, so repeating a request is safe.
 */
import type { EncryptionKey } from '../../access/clients/encryption-key.ts'
import type { Asset, Conversions } from '../../contract/assets.ts'
import { newId } from '../../platform/base/ids.ts'
import { type FieldError, invalidRequest, Problem } from '../../platform/http/problem.ts'
import { writeAudit } from '../../platform/store/audit.ts'
import { nextCreationTimes } from '../../platform/store/creation-time.ts'
import type { Transaction } from '../../platform/store/db.ts'
import { profileForWrite } from '../accounts/profiles.ts'
import { type GateSettings, readGates } from '../controls/gates.ts'
import type { DestinationPolicy } from '../destinations/standing.ts'
import type { GateFinding } from '../gates/model.ts'
import { formatAmount, parseAmount } from '../ledger/amounts.ts'
import { refuseOtherDecimals } from '../ledger/assets.ts'
import { lockBalances, post } from '../ledger/ledger.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import { lockLimits } from '../limits/gate.ts'
import { destinationOf } from '../rules/destination.ts'
import type { RuleDestination } from '../rules/model.ts'
import { unlessRepeated } from '../rules/repeated.ts'
import { withNetworkName } from '../rules/schemas.ts'
import { termsFaults } from '../rules/terms.ts'
import { readParties, type SealedParties, storeParties } from '../screening/parties.ts'
import { conversionGates } from './convert.ts'
import { getOrchestration } from './lists.ts'
import { feeOf } from './model.ts'
import type { RequestedOrchestration } from './schemas.ts'
import { type StartSettings, startOrchestrations } from './start.ts'

export interface RequestSettings extends StartSettings {
  readonly conversions: Conversions
  readonly gates: GateSettings
  /** The setting `orchestrations.fee_bps`. */
  readonly feeBps: number
  /** The setting `orchestrations.minimums`. Undefined: the asset has none. */
  minimumOf(asset: string): MinorUnits | undefined
}

/** A valid request with its asset and amount. */
export interface ReadRequest {
  readonly body: RequestedOrchestration
  readonly sourceAsset: Asset
  readonly sourceAmount: MinorUnits
  readonly parties?: SealedParties
}

/** Validates a body. Throws 400 with all its faults. */
export function readRequest(
  body: RequestedOrchestration,
  settings: RequestSettings,
  encryptionKey: EncryptionKey | undefined,
): ReadRequest {
  const { source, source_asset, destination_asset, destination, source_amount } = body
  const terms = {
    source,
    source_asset,
    destination_asset,
    ...(destination === undefined ? {} : { destination: withNetworkName(destination) }),
  }
  const faults: FieldError[] = [...termsFaults(terms, settings.conversions)]
  const asset = settings.conversions.assets.find(({ symbol }) => symbol === source_asset)
  const amount = asset === undefined ? 0n : parseAmount(source_amount, asset.decimals)
  const minimum = settings.minimumOf(source_asset) ?? 0n
  if (typeof amount === 'string') faults.push({ pointer: '/source_amount', detail: amount })
  else if (asset !== undefined && amount < minimum) {
    const detail = `is less than ${formatAmount(minimum, asset.decimals)}, the minimum for ${source_asset}`
    faults.push({ pointer: '/source_amount', detail })
  }
  const isScreening = settings.gates.screening !== undefined
  const parties = body.parties === undefined ? undefined : readParties(body.parties, { isScreening, encryptionKey })
  if (typeof parties === 'object') faults.push(parties)
  const [first, ...rest] = faults
  if (first !== undefined) throw invalidRequest([first, ...rest])
  // Without a fault, the asset and its amount are defined.
  const read = { body, sourceAsset: asset as Asset, sourceAmount: amount as MinorUnits }
  return typeof parties === 'function' ? { ...read, parties } : read
}

/** Starts the orchestration, and returns its JSON text. */
export async function requestOrchestration<Tables>(
  transaction: Transaction<Tables>,
  { customerId, actor }: { readonly customerId: string; readonly actor: string },
  { body, sourceAsset, sourceAmount, parties }: ReadRequest,
  settings: RequestSettings,
): Promise<string> {
  const { ref_id: refId, destination_asset: destinationAsset, metadata = {} } = body
  const refuseRepeated = () => refuseUsedRefId(transaction, customerId, refId)
  const { profile, destination } = await unlessRepeated(refuseRepeated, () =>
    placesOf(transaction, customerId, body, settings.gates.destinations),
  )
  const profileId = profile.id
  const source = { profile: { profile_id: profileId } }
  const asset = sourceAsset.symbol
  refuseNoEffect(profileId, destination, asset === destinationAsset)
  const id = newId()
  const terms = {
    id,
    customerId,
    profileId,
    sourceAsset: asset,
    destinationAsset,
    source,
    destination,
    openedGates: [],
  }
  // The amount after a conversion is not known yet: its gates are read then.
  const amount = asset === destinationAsset ? sourceAmount - feeOf(sourceAmount, settings.feeBps) : undefined
  const subject = { ...conversionGates(terms), amount }
  const limits = await lockLimits(transaction, amount === undefined ? [] : [subject], settings.gates)
  const balances = await lockBalances(transaction, [{ profileId, asset }])
  const times = await nextCreationTimes(transaction, [customerId])
  // This customer's other requests wait for its clock's row, so none inserts the same ref_id afterwards.
  await refuseRepeated()
  await limits.count([subject])
  refuseClosed((await readGates(transaction, [subject], settings.gates))[0])
  refuseShort(balances({ profileId, asset }).available, sourceAmount, sourceAsset)
  await reserve(transaction, { id, profileId, asset, amount: sourceAmount })
  await refuseOtherDecimals(transaction, [sourceAsset])
  const start = {
    id,
    customerId,
    profileId,
    accountId: profile.account?.id ?? null,
    identityId: profile.account?.identityId ?? null,
    refId,
    ruleId: null,
    depositId: null,
    retryOf: null,
    sourceAsset: asset,
    sourceAmount,
    destinationAsset,
    source,
    destination,
    metadata,
    createdAt: times.get(customerId) as string,
  }
  await startOrchestrations(transaction, [start], settings)
  await storeParties(transaction, parties === undefined ? [] : [{ id, sealed: parties }])
  const detail = {
    ref_id: refId,
    profile_id: profileId,
    source_asset: asset,
    source_amount: formatAmount(sourceAmount, sourceAsset.decimals),
    destination_asset: destinationAsset,
  }
  await writeAudit(transaction, { actor, action: 'orchestration.create', subject: id, detail })
  return (await getOrchestration(transaction, customerId, { id })) as string
}

/** The profile and the destination. Throws when one of them cannot be used now. */
async function placesOf<Tables>(
  transaction: Transaction<Tables>,
  customerId: string,
  { source, destination }: RequestedOrchestration,
  policy: DestinationPolicy,
) {
  const wantedId = source.profile.profile_id
  const profile = await profileForWrite(transaction, customerId, wantedId, '/source/profile/profile_id')
  const requested = destination === undefined ? undefined : withNetworkName(destination)
  return { profile, destination: await destinationOf(transaction, profile, requested, policy) }
}

async function refuseUsedRefId<Tables>(
  transaction: Transaction<Tables>,
  customerId: string,
  refId: string,
): Promise<void> {
  const existing = await getOrchestration(transaction, customerId, { refId })
  if (existing === undefined) return
  const meta = { existing: JSON.parse(existing) as unknown }
  throw new Problem('already_exists', 'ref_id: an orchestration with this ref_id exists', { meta })
}

/** Refuses a request whose amount would only be reserved and come back unchanged. */
function refuseNoEffect(profileId: string, destination: RuleDestination, isSameAsset: boolean): void {
  if (!isSameAsset || !('profile' in destination) || destination.profile.profile_id !== profileId) return
  const detail = 'has no effect: the asset stays the same, and the amount in the profile'
  throw invalidRequest([{ pointer: '/destination', detail }])
}

/** Reserves an available amount for an orchestration. */
export async function reserve<Tables>(
  transaction: Transaction<Tables>,
  {
    id,
    profileId,
    asset,
    amount,
  }: {
    readonly id: string
    readonly profileId: string
    readonly asset: string
    readonly amount: MinorUnits
  },
): Promise<void> {
  const debit = { bucket: 'available', profileId } as const
  const credit = { bucket: 'in_transit', profileId } as const
  await post(transaction, [{ asset, amount, debit, credit, groupId: id }])
}

/** Throws `insufficient_funds` when less than the needed amount is available. */
export function refuseShort(
  available: MinorUnits,
  needed: MinorUnits,
  { symbol, decimals }: Pick<Asset, 'symbol' | 'decimals'>,
): void {
  if (available >= needed) return
  const meta = { available: formatAmount(available, decimals), needed: formatAmount(needed, decimals) }
  throw new Problem('insufficient_funds', `the profile does not have enough ${symbol} available`, { meta })
}

/** Throws the first closed gate's refusal. At the other closed gates, the orchestration waits. */
function refuseClosed(findings: readonly GateFinding[] = []): void {
  const refusal = findings.find(({ refusal }) => refusal !== undefined)?.refusal
  if (refusal === undefined) return
  const { code, detail, meta } = refusal
  throw new Problem(code, detail, meta === undefined ? {} : { meta })
}
