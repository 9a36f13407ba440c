/** The stream's messages, typed from the public documentation. */

export interface SampleLevel {
  readonly price: string
  readonly amount: string
}

export interface SampleExecution {
  readonly market: string
  readonly price: string
  readonly amount: string
  readonly executed_at: string
}

export interface SampleTop {
  readonly market: string
  readonly type: string
  readonly timestamp: string
  readonly bids: readonly SampleLevel[]
  readonly asks: readonly SampleLevel[]
}

export interface BookMessage {
  readonly market: string
  readonly type: 'SNAPSHOT' | 'UPDATE'
  readonly time: string
  readonly bids: readonly SampleLevel[]
  readonly asks: readonly SampleLevel[]
}

export interface Entry {
  readonly type?: unknown
  readonly params?: unknown
  readonly success?: boolean
  readonly error?: string
  readonly message?: string
}

/** A reply to a request, or an error in its place. */
export interface Reply {
  readonly type: string
  readonly channels?: readonly Entry[]
  readonly error?: string
  readonly message?: string
}

export interface DataMessage {
  readonly channel: string
  readonly payload: Record<string, unknown>
  readonly stream?: { readonly cursor: string; readonly prev?: string; readonly covers: number }
}
