/**
 * The rules of docs/how-to/feeding-your-own-book.md for the messages of a publisher, as the simplest reader of them: a Map per
 * side, or of orders. It shares no code with the service or the adapters. Each broken rule is an error.
 */

interface Level {
  readonly price: string
  readonly amount: string
}

interface OrderChange {
  readonly type: 'order_add' | 'order_modify' | 'order_delete'
  readonly order_id: string
  readonly side: 'buy' | 'sell'
  readonly price?: string
  readonly amount: string
}

interface Instrument {
  readonly price_decimals: number
  readonly amount_decimals: number
  readonly state: string
  readonly reason: string
}

interface Payload extends Instrument {
  readonly market: string
  readonly type: string
  readonly time: string
  readonly instrument?: Instrument
  readonly bids?: readonly Level[]
  readonly asks?: readonly Level[]
  readonly orders?: readonly OrderChange[]
  readonly executions?: readonly Execution[]
  readonly missed?: string
}

export interface Execution {
  readonly id: string
  readonly side?: string
  readonly price: string
  readonly amount: string
  readonly executed_at?: string
}

export interface Publication {
  readonly payload: Payload
  readonly stream: { readonly epoch: string; readonly seq: number }
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/
const DECIMAL = /^\d+(\.\d+)?$/
const SCALE = 18

export class PublishedBook {
  epoch = ''
  seq = 0
  state: 'waiting' | 'trusted' | 'lost' = 'waiting'
  instrument: Instrument | undefined
  readonly executions: Execution[] = []
  /** Messages with `missed`, and jumps of SNAPSHOTs past numbers that were not seen. */
  missed = 0
  snapshots = 0
  updates = 0
  readonly epochs: string[] = []
  #levels = { buy: new Map<string, string>(), sell: new Map<string, string>() }
  #orders: Map<string, OrderChange> | undefined
  /** As if a rule had been broken: messages are ignored until a SNAPSHOT. */
  isIgnoring = false

  /** Best first. */
  side(side: 'buy' | 'sell'): Level[] {
    const levels = [...this.#levels[side]].map(([price, amount]) => ({ price, amount }))
    const sign = side === 'buy' ? -1 : 1
    return levels.sort((left, right) => sign * (scaled(left.price) < scaled(right.price) ? -1 : 1))
  }

  /** Applies one message; throws where it breaks a rule. */
  apply({ payload, stream }: Publication): void {
    const { epoch, seq } = stream
    require(/^[A-Za-z0-9_-]{1,64}$/.test(epoch), `the epoch ${epoch}`)
    require(Number.isSafeInteger(seq) && seq >= 0, `the number ${seq}`)
    require(TIME.test(payload.time), `the time ${payload.time}`)
    if (payload.type === 'SNAPSHOT') {
      this.#snapshot(payload, epoch, seq)
      return
    }
    if (this.isIgnoring) return
    require(epoch === this.epoch, `${payload.type} of the epoch ${epoch} before its SNAPSHOT`)
    if (payload.type === 'LOST') {
      require(seq === this.seq, `LOST with ${seq} after ${this.seq}`)
      this.state = 'lost'
      return
    }
    require(seq === this.seq + 1, `${seq} after ${this.seq}`)
    this.seq = seq
    if (payload.missed !== undefined) this.missed++
    if (payload.type === 'INSTRUMENT') this.#instrument(payload)
    else if (payload.type === 'UPDATE') this.#update(payload)
    else throw new Error(`the type ${payload.type}`)
  }

  #snapshot(payload: Payload, epoch: string, seq: number): void {
    if (epoch !== this.epoch) {
      require(!this.epochs.includes(epoch), `the epoch ${epoch} is used again`)
      this.epochs.push(epoch)
    } else {
      require(seq >= this.seq, `a SNAPSHOT with ${seq} after ${this.seq}`)
      if (seq > this.seq) this.missed++
    }
    this.epoch = epoch
    this.seq = seq
    this.state = 'trusted'
    this.isIgnoring = false
    this.snapshots++
    require(payload.instrument !== undefined, 'a SNAPSHOT without an instrument')
    this.#instrument(payload.instrument as Instrument)
    this.#levels = { buy: new Map(), sell: new Map() }
    require((payload.orders === undefined) !== (payload.bids === undefined), 'a SNAPSHOT with orders or bids')
    this.#orders = payload.orders === undefined ? undefined : new Map()
    for (const order of payload.orders ?? []) this.#order({ ...order, type: 'order_add' })
    this.#setLevels(payload)
    require(![...this.side('buy'), ...this.side('sell')].some(({ amount }) => scaled(amount) === 0n), 'an empty level')
    this.#requireUncrossed()
  }

  #update(payload: Payload): void {
    this.updates++
    const changes = [...(payload.bids ?? []), ...(payload.asks ?? []), ...(payload.orders ?? [])]
    require(this.state === 'trusted' || changes.length === 0, 'a change of a lost book')
    this.#setLevels(payload)
    require(payload.orders === undefined || this.#orders !== undefined, 'changes of orders after a SNAPSHOT of levels')
    for (const order of payload.orders ?? []) this.#order(order)
    this.#requireUncrossed()
    for (const execution of payload.executions ?? []) {
      require(/^[ -~]{1,64}$/.test(execution.id), `the trade ${execution.id}`)
      require(!this.executions.some(({ id }) => id === execution.id), `the trade ${execution.id} twice`)
      require([undefined, 'buy', 'sell'].includes(execution.side), `the side ${execution.side}`)
      require(execution.executed_at === undefined || TIME.test(execution.executed_at), `${execution.executed_at}`)
      this.#requireDecimals(execution.price, execution.amount)
      this.executions.push(execution)
    }
  }

  #instrument(instrument: Instrument): void {
    require(['OPEN', 'HALTED', 'AUCTION', 'CLOSED'].includes(instrument.state), `the state ${instrument.state}`)
    require(instrument.reason.length <= 200, 'a long reason')
    require(instrument.state !== 'OPEN' || instrument.reason === '', 'a reason while OPEN')
    this.instrument = instrument
  }

  #setLevels({ bids = [], asks = [] }: Payload): void {
    for (const [levels, changes] of [[this.#levels.buy, bids] as const, [this.#levels.sell, asks] as const]) {
      require(new Set(changes.map(({ price }) => scaled(price))).size === changes.length, 'a price twice')
      for (const { price, amount } of changes) {
        this.#requireDecimals(price, amount)
        if (scaled(amount) === 0n) levels.delete(price)
        else levels.set(price, amount)
      }
    }
  }

  #order(change: OrderChange): void {
    const orders = this.#orders as Map<string, OrderChange>
    const known = orders.get(change.order_id)
    require(/^[ -~]{1,64}$/.test(change.order_id), `the order ${change.order_id}`)
    require((known === undefined) === (change.type === 'order_add'), `${change.type} of ${change.order_id}`)
    if (change.type === 'order_delete') orders.delete(change.order_id)
    else {
      const order = { ...known, ...change }
      this.#requireDecimals(order.price ?? '', order.amount)
      require(scaled(order.amount) > 0n, `an empty order ${order.order_id}`)
      orders.set(order.order_id, order)
    }
    this.#levels = { buy: new Map(), sell: new Map() }
    for (const { side, price = '', amount } of orders.values()) {
      const sum = scaled(this.#levels[side].get(price) ?? '0') + scaled(amount)
      this.#levels[side].set(price, unscaled(sum))
    }
  }

  #requireDecimals(price: string, amount: string): void {
    const { price_decimals = 0, amount_decimals = 0 } = this.instrument ?? {}
    require(DECIMAL.test(price) && scaled(price) > 0n, `the price ${price}`)
    require(DECIMAL.test(amount), `the amount ${amount}`)
    require((price.split('.')[1] ?? '').length <= price_decimals, `the decimals of the price ${price}`)
    require((amount.split('.')[1] ?? '').length <= amount_decimals, `the decimals of the amount ${amount}`)
  }

  #requireUncrossed(): void {
    const bids = [...this.#levels.buy.keys()].map(scaled)
    const bid = bids.reduce((best, price) => (price > best ? price : best), 0n)
    const crossing = [...this.#levels.sell.keys()].find((price) => scaled(price) <= bid)
    require(crossing === undefined, `a crossed book: ${bid} and ${crossing}`)
  }
}

/** By text: the same prices occur again and again. */
const SCALED = new Map<string, bigint>()

function scaled(text: string): bigint {
  const known = SCALED.get(text)
  if (known !== undefined) return known
  const [whole = '', fraction = ''] = text.split('.')
  const value = BigInt(whole + fraction.padEnd(SCALE, '0'))
  if (SCALED.size < 100_000) SCALED.set(text, value)
  return value
}

function unscaled(value: bigint): string {
  const digits = String(value).padStart(SCALE + 1, '0')
  const fraction = digits.slice(-SCALE).replace(/0+$/, '')
  return digits.slice(0, -SCALE) + (fraction === '' ? '' : `.${fraction}`)
}

function require(condition: boolean, rule: string): void {
  if (!condition) throw new Error(`breaks a rule: ${rule}`)
}
