/**
 * A node's announcement to the others, once a second: a JSON document. A reader ignores unknown members, and ignores a
 * document without a required one, so nodes on two releases understand each other. It contains no secret and no
 * address.
 */
import { createHash } from 'node:crypto'
import { isUuid } from '../../platform/base/ids.ts'
import { isObject, type JsonObject, parseJson } from '../../platform/base/json-value.ts'
import type { MarketDefinition } from '../market/event.ts'

/** Largest document in bytes. A longer one is not read. */
const DOCUMENT_BYTES_MAX = 4_096
const TEXT_LENGTH_MAX = 300
const ROLES_MAX = 16

export interface NodeAnnouncement {
  /** Identifier for this process run. */
  readonly id: string
  /** How the operator recognises the process: its host and process id. */
  readonly name: string
  readonly roles: readonly string[]
  /** The program's version. */
  readonly version: string
  readonly started_at: string
  /** Whether its `/readyz` answers 200. */
  readonly ready: boolean
  /** How many markets it has, and their definitions' digest. */
  readonly markets: number
  readonly definitions: string
  /** Version of the customers and clients it knows. Absent while it does not reach the store. */
  readonly directory_version?: number
  /** Present in its last announcement. */
  readonly stopped?: true
}

export function encodeAnnouncement(announcement: NodeAnnouncement): Buffer {
  return Buffer.from(JSON.stringify(announcement))
}

/** Undefined for anything but an announcement. */
export function decodeAnnouncement(bytes: Buffer): NodeAnnouncement | undefined {
  const document = parseDocument(bytes, DOCUMENT_BYTES_MAX)
  if (document === undefined) return undefined
  const { id, name, roles, version, started_at, ready, markets, definitions, directory_version, stopped } = document
  if (typeof id !== 'string' || !isUuid(id) || !isShortText(name) || !isShortText(version)) return undefined
  if (!Array.isArray(roles) || roles.length > ROLES_MAX || !roles.every(isShortText)) return undefined
  if (!isShortText(started_at) || Number.isNaN(Date.parse(started_at)) || typeof ready !== 'boolean') return undefined
  if (!Number.isSafeInteger(markets) || !isShortText(definitions)) return undefined
  return {
    id,
    name,
    roles,
    version,
    started_at,
    ready,
    markets: markets as number,
    definitions,
    ...(isVersion(directory_version) && { directory_version }),
    ...(stopped === true && { stopped }),
  }
}

/** The JSON object in `bytes`. Undefined when there is none, or it is longer than `bytesMax`. */
export function parseDocument(bytes: Buffer, bytesMax: number): JsonObject | undefined {
  const value = bytes.length > bytesMax ? undefined : parseJson(bytes.toString())
  return isObject(value) ? value : undefined
}

function isVersion(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isShortText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= TEXT_LENGTH_MAX
}

/** Equal for equal definitions in any order: 16 hexadecimal digits. */
export function definitionsDigest(markets: readonly MarketDefinition[]): string {
  const rows = markets
    .map((market) => [
      market.symbol,
      market.baseAsset,
      market.quoteAsset,
      market.priceDecimals,
      market.amountDecimals,
      market.depth,
    ])
    .sort(([left = ''], [right = '']) => (left < right ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(rows)).digest('hex').slice(0, 16)
}
