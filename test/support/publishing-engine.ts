/**
 * One market of a matching engine that publishes itself (docs/how-to/feeding-your-own-book.md), written from that page
 * alone and without a line from the program: orders in a map, levels summed again after every step, all messages in the
 * current epoch kept, and the state after each. Amounts are bigint at 8 decimals, prices whole cents. Some sums exceed
 * 2^53.
 */
import type { Publisher } from '../../packages/publisher/publisher.mjs'
import type { Random } from './random.ts'

export interface WireMessage {
  readonly channel: 'publication'
  readonly payload: Readonly<Record<string, unknown>> & { readonly market: string; readonly type: string }
  readonly stream: { readonly epoch: string; readonly seq: number; readonly prev?: number; readonly continues?: string }
}

type Members<Method extends 'update' | 'snapshotOf'> = Method extends 'update'
  ? Parameters<Publisher['update']>[1]
  : ReturnType<ConstructorParameters<typeof Publisher>[0]['snapshotOf']>

/** The members that the adapters' library takes, which numbers the messages itself. */
export const membersOf = <Method extends 'update' | 'snapshotOf'>({ payload }: WireMessage) =>
  payload as unknown as Members<Method>

type SideName = 'bids' | 'asks'

interface EngineOrder {
  readonly side: 'buy' | 'sell'
  cents: number
  amount: bigint
}

/** The engine after one message. */
interface EngineState {
  readonly orders: ReadonlyMap<string, EngineOrder>
  readonly state: string
  readonly trades: number
}

export interface EngineOptions {
  readonly symbol: string
  readonly random: Random
  /** Whether it publishes single orders instead of levels. */
  readonly publishesOrders: boolean
  /** Past messages that it keeps for a resumption. */
  readonly keptMax: number
  readonly simulated?: boolean
  /** Begins its epochs and its trade ids: distinct for processes that publish one market one after the other. */
  readonly name?: string
}

export const ENGINE_DECIMALS = { price: 2, amount: 8 } as const
const MIDDLE_CENTS = 10_000
const ORDERS_MAX = 30

export class PublishingEngine {
  readonly #options: EngineOptions
  #epochNumber = 1
  #seq = 0
  #orders = new Map<string, EngineOrder>()
  #state = 'OPEN'
  #orderNumber = 0
  #tradeNumber = 0
  /** The epoch's numbered messages, the last `keptMax`. */
  #kept: WireMessage[] = []
  /** By number within the epoch. */
  #states = new Map<number, EngineState>()

  constructor(options: EngineOptions) {
    this.#options = options
    this.#remember()
  }

  get symbol(): string {
    return this.#options.symbol
  }

  get epoch(): string {
    return `${this.#options.name ?? ''}run-${this.#epochNumber}`
  }

  get seq(): number {
    return this.#seq
  }

  /** Trades so far, in all epochs. Their ids are `t1`, `t2`, …, after the name. */
  get trades(): number {
    return this.#tradeNumber
  }

  /** Trades up to message `seq`, which must be in this epoch, and in earlier epochs. */
  tradesAt(seq: number): number {
    return (this.#states.get(seq) as EngineState).trades
  }

  /** Places, changes and trades some orders, and returns the message about it. */
  step(): WireMessage {
    const { random, publishesOrders } = this.#options
    const before = levelsOf(this.#orders)
    const changes: Record<string, unknown>[] = []
    const executions: Record<string, unknown>[] = []
    for (let left = random.integer(4); left > 0; left--) {
      const change = this.#change()
      changes.push(change)
      if (change.type === 'trade') executions.push(change)
    }
    const content = publishesOrders
      ? { orders: changes }
      : { ...levelDifference(before, levelsOf(this.#orders)), executions: executions.map(withoutOrder) }
    return this.#number({ type: 'UPDATE', ...content })
  }

  /** Changes the instrument's state, and returns the message about it. */
  setState(state: string): WireMessage {
    this.#state = state
    return this.#number({ type: 'INSTRUMENT', ...this.#instrument(state) })
  }

  /** The state after message `seq`, which must be in this epoch. */
  snapshot(seq = this.#seq): WireMessage {
    const { orders, state } = this.#states.get(seq) as EngineState
    const levels = levelsOf(orders)
    const content = this.#options.publishesOrders
      ? { orders: [...orders].map(([id, order]) => ({ order_id: id, ...orderTexts(order) })) }
      : { bids: levelTexts(levels, 'bids'), asks: levelTexts(levels, 'asks') }
    return this.#message({ type: 'SNAPSHOT', instrument: this.#instrument(state), ...content }, seq)
  }

  lost(reason: string): WireMessage {
    return this.#message({ type: 'LOST', reason }, this.#seq)
  }

  /** The messages after `EPOCH.SEQ`, or undefined where not all of them are kept. */
  after(position: string): readonly WireMessage[] | undefined {
    const dot = position.lastIndexOf('.')
    const seq = Number(position.slice(dot + 1))
    const isKept = seq === this.#seq || (this.#kept[0]?.stream.seq ?? Number.POSITIVE_INFINITY) <= seq + 1
    if (position.slice(0, dot) !== this.epoch || seq > this.#seq || !isKept) return undefined
    return this.#kept.filter(({ stream }) => stream.seq > seq)
  }

  /** The process starts again with the orders it had, in a new epoch. Trades in between are never published. */
  restart(): void {
    this.#epochNumber++
    this.#seq = 0
    this.#kept = []
    this.#states = new Map()
    if (this.#options.random.chance(0.5)) this.#change()
    this.#remember()
  }

  /** Levels after message `seq` as `side price` → amount, with the engine's decimals. */
  levels(seq = this.#seq): ReadonlyMap<string, string> {
    const { orders } = this.#states.get(seq) as EngineState
    const texts = (['bids', 'asks'] as const).flatMap((side) =>
      levelTexts(levelsOf(orders), side).map(({ price, amount }) => [`${side} ${price}`, amount] as const),
    )
    return new Map(texts)
  }

  state(seq = this.#seq): string {
    return (this.#states.get(seq) as EngineState).state
  }

  /** Changes one order, and returns the change as published. */
  #change(): Record<string, unknown> {
    const { random } = this.#options
    const [id, order] = [...this.#orders][random.integer(Math.max(1, this.#orders.size))] ?? []
    const action = this.#orders.size < 2 ? 0 : this.#orders.size >= ORDERS_MAX ? 3 : random.integer(6)
    if (id === undefined || order === undefined || action <= 1) return this.#add()
    if (action === 2) {
      order.amount = this.#amount()
      const moves = random.chance(0.5)
      if (moves) order.cents = this.#cents(order.side)
      return {
        type: 'order_modify',
        order_id: id,
        amount: amountText(order.amount),
        ...(moves ? { price: priceText(order.cents) } : {}),
      }
    }
    if (action === 3) {
      this.#orders.delete(id)
      return { type: 'order_delete', order_id: id }
    }
    const amount = random.chance(0.4) ? order.amount : order.amount / 3n + 1n
    order.amount -= amount
    if (order.amount === 0n) this.#orders.delete(id)
    this.#tradeNumber++
    return {
      type: 'trade',
      id: `${this.#options.name ?? ''}t${this.#tradeNumber}`,
      order_id: id,
      side: order.side === 'buy' ? 'sell' : 'buy',
      price: priceText(order.cents),
      amount: amountText(amount),
    }
  }

  #add(): Record<string, unknown> {
    const side = this.#options.random.chance(0.5) ? 'buy' : 'sell'
    const order = { side, cents: this.#cents(side), amount: this.#amount() } as const
    this.#orderNumber++
    this.#orders.set(`o${this.#orderNumber}`, { ...order })
    return { type: 'order_add', order_id: `o${this.#orderNumber}`, ...orderTexts(order) }
  }

  #cents(side: 'buy' | 'sell'): number {
    return MIDDLE_CENTS + (side === 'buy' ? -1 : 1) * (1 + this.#options.random.integer(8))
  }

  #amount(): bigint {
    const { random } = this.#options
    return random.chance(0.1) ? 2n ** 60n : BigInt(1 + random.integer(1_000))
  }

  #instrument(state: string) {
    return {
      price_decimals: ENGINE_DECIMALS.price,
      amount_decimals: ENGINE_DECIMALS.amount,
      state,
      reason: state === 'OPEN' ? '' : `the engine is ${state}`,
      ...(this.#options.simulated === true ? { simulated: true } : {}),
    }
  }

  #number(payload: Readonly<Record<string, unknown>> & { readonly type: string }): WireMessage {
    this.#seq++
    this.#remember()
    const message = this.#message(payload, this.#seq)
    this.#kept.push(message)
    if (this.#kept.length > this.#options.keptMax) this.#kept.shift()
    return message
  }

  #message(payload: Readonly<Record<string, unknown>> & { readonly type: string }, seq: number): WireMessage {
    const time = '2026-11-20T12:00:00.123456789Z'
    const market = this.#options.symbol
    return { channel: 'publication', payload: { market, time, ...payload }, stream: { epoch: this.epoch, seq } }
  }

  #remember(): void {
    const orders = new Map([...this.#orders].map(([id, order]) => [id, { ...order }]))
    this.#states.set(this.#seq, { orders, state: this.#state, trades: this.#tradeNumber })
  }
}

function levelsOf(orders: ReadonlyMap<string, EngineOrder>): Map<string, bigint> {
  const levels = new Map<string, bigint>()
  for (const { side, cents, amount } of orders.values()) {
    const key = `${side === 'buy' ? 'bids' : 'asks'} ${cents}`
    levels.set(key, (levels.get(key) ?? 0n) + amount)
  }
  return levels
}

function levelTexts(levels: ReadonlyMap<string, bigint>, side: SideName): { price: string; amount: string }[] {
  return [...levels]
    .filter(([key]) => key.startsWith(side))
    .map(([key, amount]) => ({ price: priceText(Number(key.split(' ')[1])), amount: amountText(amount) }))
}

function levelDifference(before: ReadonlyMap<string, bigint>, after: ReadonlyMap<string, bigint>) {
  const changed = new Map<string, bigint>()
  for (const [key, amount] of after) if (before.get(key) !== amount) changed.set(key, amount)
  for (const key of before.keys()) if (!after.has(key)) changed.set(key, 0n)
  return { bids: levelTexts(changed, 'bids'), asks: levelTexts(changed, 'asks') }
}

function withoutOrder({ id, side, price, amount }: Record<string, unknown>) {
  return { id, side, price, amount }
}

function orderTexts({ side, cents, amount }: EngineOrder) {
  return { side, price: priceText(cents), amount: amountText(amount) }
}

function priceText(cents: number): string {
  return decimalText(BigInt(cents), ENGINE_DECIMALS.price)
}

function amountText(amount: bigint): string {
  return amount === 0n ? '0' : decimalText(amount, ENGINE_DECIMALS.amount)
}

function decimalText(value: bigint, decimals: number): string {
  const digits = String(value).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}
