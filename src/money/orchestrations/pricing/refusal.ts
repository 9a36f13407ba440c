/** A request's outcomes without a price: it waits for one, or it never has one. Pure. */

/** The conversion has no price now and is tried again. */
export interface Waiting {
  readonly kind: 'waits'
  readonly waitingFor: 'PRICE' | 'PEG' | 'SLIPPAGE' | 'DESK_LIMIT'
  /** For the operator. It contains no secret. */
  readonly detail: string
}

/** The conversion cannot have a price, now or later. */
export interface Impossible {
  readonly kind: 'impossible'
  readonly code: 'NOT_CONVERTIBLE'
  readonly detail: string
}

export function waits(waitingFor: Waiting['waitingFor'], detail: string): Waiting {
  return { kind: 'waits', waitingFor, detail }
}

export function impossible(detail: string): Impossible {
  return { kind: 'impossible', code: 'NOT_CONVERTIBLE', detail }
}
