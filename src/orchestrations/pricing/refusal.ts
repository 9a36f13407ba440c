/** Why a conversion has no price: it waits for one, or will never have one. Pure. */

/** The conversion has no price now and is to be tried again. */
export interface Waiting {
  readonly kind: 'waits'
  readonly waitingFor: 'PRICE' | 'PEG' | 'SLIPPAGE' | 'DESK_LIMIT'
  /** For people; no secrets. */
  readonly detail: string
}

/** The conversion will never have a price as it is. */
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
