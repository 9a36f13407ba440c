/**
 * Parses deposit reports into payment terms in canonical form, or into a list of faults. Also compares the terms of two
 * reports about one payment.
 */
import { type Asset, isFiat } from '../../contract/assets.ts'
import { CRYPTO_NETWORKS, networkNamed } from '../../contract/crypto-networks.ts'
import { readInstant, TIME_RULE } from '../../platform/http/list-times.ts'
import type { FieldError } from '../../platform/http/problem.ts'
import { addressFault, storedForms } from '../deposit-instructions/derivation/address-validity.ts'
import { parseAmount } from '../ledger/amounts.ts'
import type { MinorUnits } from '../ledger/posting.ts'
import { NO_PARTIES, readParties, type SealedParties } from '../screening/parties.ts'
import { plainReference } from './bank-reference.ts'
import { plainMemo } from './memo-text.ts'
import type { DepositReportBody } from './schemas.ts'
import type { DepositStatus } from './transitions.ts'
import { normalTxHash, txHashRule } from './tx-hash.ts'

/** A payment's terms. Members for the other kind of network are null. */
export interface PaymentTerms {
  readonly asset: string
  readonly amount: MinorUnits
  /** A crypto network, or a fiat network. */
  readonly network: string
  /** In the form in which the service issues addresses. */
  readonly address: string | null
  readonly txHash: string | null
  readonly txIndex: number | null
  readonly memoId: string | null
  readonly remittance: string | null
  readonly bankReference: string | null
  readonly sender: string | null
}

export interface Report extends PaymentTerms {
  readonly source: string
  /** The source's own name for the payment. */
  readonly externalId: string
  readonly status: DepositStatus
  readonly confirmations: number | null
  /** RFC 3339, whole milliseconds. */
  readonly occurredAt: string
  /** The reporter's name in the audit trail. */
  readonly reportedBy: string
  /** Its parties. Those of the first report that has some are kept. */
  readonly parties?: SealedParties
  /** Why a sandbox deposit is HELD from the beginning. */
  readonly holdReason?: string
}

/** The source of invented payments. No two of them are the same payment. */
export const SANDBOX_SOURCE = 'sandbox'

const NO_CRYPTO = { address: null, txHash: null, txIndex: null } as const
const NO_FIAT = { memoId: null, remittance: null, bankReference: null, sender: null } as const

type Faults = readonly [FieldError, ...FieldError[]]

/** The report, or its faults, each with a pointer into the body. */
export function readReport(
  body: DepositReportBody,
  assets: readonly Asset[],
  reportedBy: string,
  partiesSettings = NO_PARTIES,
): Report | Faults {
  const faults: FieldError[] = []
  const asset = assets.find(({ symbol }) => symbol === body.asset)
  if (asset === undefined) {
    faults.push({ pointer: '/asset', detail: `must be one of ${assets.map(({ symbol }) => symbol).join(', ')}` })
  }
  const amount = asset === undefined ? 0n : parseAmount(body.amount, asset.decimals)
  if (typeof amount === 'string') faults.push({ pointer: '/amount', detail: amount })
  const instant = readInstant(body.occurred_at)
  if (instant === undefined) faults.push({ pointer: '/occurred_at', detail: TIME_RULE })
  const way = readWay(body, asset, faults)
  const parties = body.parties === undefined ? undefined : readParties(body.parties, partiesSettings)
  if (typeof parties === 'object') faults.push(parties)
  const [first, ...others] = faults
  if (first !== undefined) return [first, ...others]
  return {
    source: body.source,
    externalId: body.external_id,
    asset: body.asset,
    amount: amount as MinorUnits,
    ...(way as Way),
    status: body.status ?? 'COMPLETED',
    confirmations: body.confirmations ?? null,
    occurredAt: new Date(instant?.milliseconds as number).toISOString(),
    reportedBy,
    ...(typeof parties === 'function' ? { parties } : {}),
  }
}

export function isReport(read: Report | Faults): read is Report {
  return !Array.isArray(read)
}

/** The payment's identity across all sources. Undefined when only the source's own name identifies it. */
export function paymentKey({ network, txHash, txIndex, bankReference }: PaymentTerms): string | undefined {
  if (txHash !== null) return JSON.stringify([network, txHash, txIndex])
  return bankReference === null ? undefined : JSON.stringify([network, plainReference(bankReference)])
}

/** Names of the members in which a report contradicts the payment's known terms. */
export function differingFields(known: PaymentTerms, report: PaymentTerms): readonly string[] {
  const fields: string[] = []
  if (known.asset !== report.asset) fields.push('asset')
  if (known.amount !== report.amount) fields.push('amount')
  const kind = report.address === null ? 'fiat' : 'crypto'
  if (known.network !== report.network) fields.push(`${kind}.network`)
  if (!isSameAddress(known, report)) fields.push('crypto.address')
  if (known.txHash !== report.txHash) fields.push('crypto.tx_hash')
  if (known.txIndex !== report.txIndex) fields.push('crypto.tx_index')
  // Sources may leave out a fiat payment's details, so only members present in both can contradict each other.
  const areDifferent = (left: string | null, right: string | null) => left !== null && right !== null && left !== right
  if (areDifferent(known.memoId && plainMemo(known.memoId), report.memoId && plainMemo(report.memoId))) {
    fields.push('fiat.memo_id')
  }
  if (
    areDifferent(
      known.bankReference && plainReference(known.bankReference),
      report.bankReference && plainReference(report.bankReference),
    )
  ) {
    fields.push('fiat.bank_reference')
  }
  return fields
}

/** A source may report a muxed Stellar address as its account. */
function isSameAddress({ network, address }: PaymentTerms, { address: reported }: PaymentTerms): boolean {
  if (address === reported) return true
  if (network !== 'STELLAR' || address === null || reported === null) return false
  return storedForms('stellar', address).includes(reported) || storedForms('stellar', reported).includes(address)
}

type Way = Omit<PaymentTerms, 'asset' | 'amount'>

/** The members for the crypto or fiat network. Undefined when the body does not have exactly one of the two. */
function readWay({ crypto, fiat }: DepositReportBody, asset: Asset | undefined, faults: FieldError[]): Way | undefined {
  if ((crypto === undefined) === (fiat === undefined)) {
    faults.push({ pointer: '', detail: 'must have exactly one of crypto, fiat' })
    return undefined
  }
  if (crypto !== undefined) return readCrypto(crypto, asset, faults)
  const {
    network,
    memo_id = null,
    remittance = null,
    bank_reference = null,
    sender = null,
  } = fiat as NonNullable<typeof fiat>
  if (asset !== undefined && !isFiat(asset)) {
    faults.push({ pointer: '/fiat/network', detail: `does not carry ${asset.symbol}, which is not a fiat asset` })
  }
  const bankReference = bank_reference === null || plainReference(bank_reference) === '' ? null : bank_reference
  return { network, ...NO_CRYPTO, memoId: memo_id, remittance, bankReference, sender }
}

function readCrypto(
  { network: name, address, tx_hash, tx_index }: NonNullable<DepositReportBody['crypto']>,
  asset: Asset | undefined,
  faults: FieldError[],
): Way {
  const network = networkNamed(name)
  if (asset !== undefined && !asset.networks.includes(network)) {
    faults.push({ pointer: '/crypto/network', detail: `does not carry ${asset.symbol}` })
  }
  // The last form is how the service issues addresses. A muxed Stellar address is issued as it was imported.
  const form = storedForms(CRYPTO_NETWORKS[network], address).at(network === 'STELLAR' ? 0 : -1)
  const addressDetail = form === undefined ? addressFault(network, address) : undefined
  if (addressDetail !== undefined) faults.push({ pointer: '/crypto/address', detail: addressDetail })
  const txHash = normalTxHash(network, tx_hash)
  if (txHash === undefined) faults.push({ pointer: '/crypto/tx_hash', detail: txHashRule(network) })
  return { network, ...NO_FIAT, address: form ?? address, txHash: txHash ?? '', txIndex: tx_index }
}
