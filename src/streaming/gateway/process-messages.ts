/**
 * Messages between the main process and a gateway process, besides the pipe's bus, directory and configuration. Both
 * are on one release.
 */
import type { MetricsSnapshot } from '../../platform/base/metrics.ts'
import type { TlsContext } from '../../platform/http/node-server.ts'
import type { SessionDetails } from './connection-document.ts'
import type { EventReply, EventRequest } from './event-link.ts'
import type { ConnectionPart, ConnectionRequest, FoundConnection } from './served-connections.ts'
import type { HolderUse } from './session-index.ts'
import type { UsageMessage } from './writes/usage-report.ts'

/** The key that signs receipts, if they are enabled and there is one. */
export interface ReceiptKey {
  readonly issuer: string
  readonly keyId: string
  /** PKCS 8, DER. */
  readonly privateKey: Uint8Array
}

/** Connections, and what customers and clients use. */
export interface ConnectionCounts {
  readonly total: number
  /** The customers and clients whose use has changed. */
  readonly holders: readonly (readonly [holderId: string, use: HolderUse])[]
}

/** What a gateway process is asked, and its answers. */
export interface Questions {
  readonly list: { readonly asked: readonly [ConnectionRequest, number]; readonly answer: ConnectionPart }
  readonly find: { readonly asked: string; readonly answer: FoundConnection | undefined }
  readonly show: { readonly asked: string; readonly answer: SessionDetails | undefined }
  readonly measure: {
    readonly asked: undefined
    /** With the connections that have a subscription in a market, by its symbol. */
    readonly answer: { readonly metrics: MetricsSnapshot; readonly subscribers: ReadonlyMap<string, number> }
  }
}

export type ToGatewayProcess =
  /** `start` is the service's own. */
  | { readonly type: 'start'; readonly start: unknown }
  | { readonly type: 'tls'; readonly tls: TlsContext }
  | { readonly type: 'receipt-key'; readonly receiptKey: ReceiptKey | undefined }
  | { readonly type: 'ping' }
  /** Connections at the other processes. */
  | { readonly type: 'others'; readonly counts: ConnectionCounts }
  | { readonly type: 'close'; readonly id: string }
  | { readonly type: 'drain'; readonly seconds: number }
  | { readonly type: 'question'; readonly number: number; readonly name: keyof Questions; readonly asked: unknown }
  | EventReply

export type FromGatewayProcess =
  /** It listens, and every market with a book is followed. */
  | { readonly type: 'ready' }
  | { readonly type: 'pong' }
  | { readonly type: 'counts'; readonly counts: ConnectionCounts }
  | UsageMessage
  | { readonly type: 'drained' }
  /** It ends, because of what it counted last. */
  | { readonly type: 'metrics'; readonly metrics: MetricsSnapshot }
  | { readonly type: 'answer'; readonly number: number; readonly answer: unknown }
  | EventRequest
