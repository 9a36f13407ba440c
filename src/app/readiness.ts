/**
 * What `/readyz` says: whether this node should get customers, and if not, every reason why. A market is one of the
 * checks by its own name, so that a lost source can be seen from outside.
 */

export interface ReadinessCheck {
  readonly name: string
  readonly ok: boolean
  /** Why not, when it is not ok; else what there is to know. */
  readonly detail: string
}

export interface Readiness {
  readonly ready: boolean
  readonly checks: readonly ReadinessCheck[]
}

export interface ReadinessInput {
  readonly draining: boolean
  readonly storeAvailable: boolean
  /** Whether who may come in is known. */
  readonly directoryLoaded: boolean
  readonly markets: readonly {
    readonly market: { readonly symbol: string }
    readonly live: boolean
    readonly reason: string
  }[]
  /** Symbols of the markets whose source has said nothing yet, neither a book nor why there is none. */
  readonly starting: ReadonlySet<string>
}

/**
 * A market whose source is lost or refused is named, and does not make the node unready: the others go on, and all
 * nodes would be unready at the same moment. One whose source has not spoken yet does.
 */
export function readinessOf(input: ReadinessInput): Readiness {
  const gates: ReadinessCheck[] = [
    check('draining', !input.draining, 'the node is shutting down'),
    check('store', input.storeAvailable, 'the store cannot be reached'),
    check('directory', input.directoryLoaded, 'customers and clients are not loaded yet'),
  ]
  const markets = input.markets.map(({ market, live, reason }) => check(`market ${market.symbol}`, live, reason))
  return { ready: gates.every(({ ok }) => ok) && input.starting.size === 0, checks: [...gates, ...markets] }
}

function check(name: string, ok: boolean, problem: string): ReadinessCheck {
  return { name, ok, detail: ok ? 'ok' : problem }
}
