/** Messages between the main process and a gateway process, besides the bus. Both are on one release. */
import type { AccessToken } from '../../access/clients/token-verifier.ts'
import type { CloseCause } from '../../contract/stream-codes.ts'
import type { LogLevel } from '../../platform/base/log.ts'
import type { MetricsSnapshot } from '../../platform/base/metrics.ts'
import type { MarketDefinition } from '../market/event.ts'
import type { SessionDetails, SessionDocument } from './connection-document.ts'
import type { HubSettings } from './hub.ts'

/** A gateway process's settings; each is the setting with the same name. */
export interface GatewayProcessSettings {
  readonly hub: HubSettings
  readonly inboundBytesMax: number
  readonly executionsKept: number
  /** How long a market may be stale before its book is withdrawn. Undefined = it stays. */
  readonly withdrawAfterMilliseconds: number | undefined
  readonly logLevel: LogLevel
  /** The setting `process.hang_seconds`. */
  readonly hangSeconds: number
  readonly signsReceipts: boolean
}

/** The key that signs receipts, if they are enabled and there is one. */
export interface ReceiptKey {
  readonly issuer: string
  readonly keyId: string
  /** PKCS 8, DER. */
  readonly privateKey: Uint8Array
}

/** An accepted connection, sent together with its socket. */
export interface HandedConnection {
  readonly id: string
  readonly token: AccessToken
  readonly clientAddress: string
  readonly request: { readonly method: string; readonly url: string; readonly headers: Record<string, string> }
  /** Bytes that arrived after the request's headers. */
  readonly head: Uint8Array
}

export type ToGatewayProcess =
  | {
      readonly type: 'start'
      readonly settings: GatewayProcessSettings
      readonly markets: readonly MarketDefinition[]
      readonly receiptKey: ReceiptKey | undefined
    }
  | { readonly type: 'connection'; readonly connection: HandedConnection }
  | { readonly type: 'ping' }
  | { readonly type: 'close'; readonly ids: readonly string[]; readonly cause: CloseCause }
  | { readonly type: 'drain'; readonly seconds: number }
  /** Settings changed by a reload. */
  | { readonly type: 'settings'; readonly subscriptionsMax: number; readonly logLevel: LogLevel }
  | { readonly type: 'receipt-key'; readonly receiptKey: ReceiptKey | undefined }
  | { readonly type: 'describe'; readonly question: number; readonly ids: readonly string[] }
  | { readonly type: 'inspect'; readonly question: number; readonly id: string }
  | { readonly type: 'measure'; readonly question: number }

export type FromGatewayProcess =
  /** Every market with a book is followed. */
  | { readonly type: 'ready' }
  | { readonly type: 'pong' }
  /** The connection's socket has arrived. */
  | { readonly type: 'taken'; readonly id: string }
  | { readonly type: 'closed'; readonly id: string }
  | { readonly type: 'described'; readonly question: number; readonly connections: readonly SessionDocument[] }
  /** Without connections that have ended. */
  | { readonly type: 'inspected'; readonly question: number; readonly connection: SessionDetails | undefined }
  | {
      readonly type: 'measured'
      readonly question: number
      readonly metrics: MetricsSnapshot
      /** Connections with a subscription to any channel in a market, by its symbol. */
      readonly subscribers: Readonly<Record<string, number>>
    }

/** The pipe's control frame: markets change in bus order. `removed` is applied before `added`. */
export interface MarketsControl {
  readonly removed: readonly string[]
  readonly added: readonly MarketDefinition[]
}
