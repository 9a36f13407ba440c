/**
 * The rules which `tidegate check-publisher` checks: what a publisher must do, and the section in
 * docs/how-to/feeding-your-own-book.md which requires it. A warning breaks no rule, but an engineer should look at it.
 * Pure.
 */

/** The page's headings, as they are shown. */
const MESSAGES = 'Messages of the publisher'
const SNAPSHOT = 'SNAPSHOT'
const UPDATE = 'UPDATE'
const ORDERS = 'Order by order'
const HEARTBEATS = 'Heartbeats'
const REACTIONS = 'Reactions'
const PULL = 'Pull'
const PUSH = 'Push'

interface PublisherRule {
  /** What is expected. */
  readonly rule: string
  readonly section: string
  readonly isWarning?: true
}

export const PUBLISHER_RULES = {
  'message-malformed': { rule: 'every message has the page’s members and forms', section: MESSAGES },
  'number-not-text': { rule: 'prices and amounts are text, not JSON numbers', section: MESSAGES },
  'too-many-decimals': { rule: 'no price or amount has more decimals than its instrument', section: MESSAGES },
  'numbers-skipped': { rule: 'seq increases by 1 with every numbered message of a market', section: MESSAGES },
  'prev-wrong': { rule: 'prev is the seq of the connection’s previous message', section: MESSAGES },
  'number-reused': { rule: 'a number always stands for the same message in its epoch', section: MESSAGES },
  'epoch-reused': { rule: 'a left epoch is never used again', section: MESSAGES },
  'epoch-kept': { rule: 'a restarted engine uses a new epoch', section: MESSAGES },
  'continues-wrong': { rule: 'continues names the previous epoch’s last message', section: SNAPSHOT },
  'snapshot-without-instrument': { rule: 'every SNAPSHOT has the instrument', section: SNAPSHOT },
  'snapshot-differs': { rule: 'a SNAPSHOT is the book after message seq', section: SNAPSHOT },
  'level-twice': { rule: 'no price occurs twice on one message side', section: SNAPSHOT },
  'book-too-large': { rule: 'a book has at most 250,000 levels, or orders', section: MESSAGES },
  'crossed-book': { rule: 'the best bid is below the best ask after every message', section: REACTIONS },
  'execution-twice': { rule: 'an execution’s id is unique within the market', section: UPDATE },
  'execution-lost': { rule: 'a repeated message has all its earlier executions', section: UPDATE },
  'orders-and-levels-mixed': { rule: 'a market is published with orders or with levels, not both', section: UPDATE },
  'order-unknown': { rule: 'only resting orders are modified, deleted or traded', section: ORDERS },
  'order-added-twice': { rule: 'order_id is unique among the resting orders', section: ORDERS },
  'trade-exceeds-order': { rule: 'a trade takes at most its order’s amount', section: ORDERS },
  'heartbeat-missing': { rule: 'a heartbeat arrives at least every 5 seconds on each connection', section: HEARTBEATS },
  'digest-wrong': { rule: 'a heartbeat’s digest matches the levels after message seq', section: HEARTBEATS },
  'snapshot-missing': {
    rule: 'a SNAPSHOT comes first when nothing is continued, and when one is requested',
    section: REACTIONS,
  },
  'epoch-without-snapshot': { rule: 'a new epoch begins with a SNAPSHOT', section: REACTIONS },
  'handshake-refused': { rule: 'the publisher accepts the connection and selects the subprotocol', section: PULL },
  'market-refused': { rule: 'the publisher serves every checked market', section: PULL },
  'acknowledgement-wrong': { rule: 'a request is answered with one acknowledgement for each channel', section: PULL },
  'message-unrequested': { rule: 'a market’s messages are sent only while it is subscribed', section: PULL },
  'unknown-market-accepted': { rule: 'an unknown market is answered with success false and a message', section: PULL },
  'resume-skips': { rule: 'after resumed true, the messages after resume follow', section: PULL },
  'resumed-without-past': { rule: 'resumed is false for a position the publisher never sent', section: PULL },
  'connection-closed': { rule: 'the publisher keeps a connection on which nothing is wrong', section: PULL },
  'publisher-stopped': {
    rule: 'no client message ends the publisher or other clients’ connections',
    section: PULL,
  },
  'ping-unanswered': { rule: 'a ping is answered with a pong', section: PULL },
  'backlog-unbounded': {
    rule: 'a publisher keeps a bounded number of unsent bytes for a peer that does not read',
    section: PUSH,
  },
  'not-connected': { rule: 'the publisher connects, and connects again after a connection is lost', section: PUSH },
  'reconnect-loop': { rule: 'the publisher waits between two attempts to connect', section: PUSH },
  'handshake-wrong': {
    rule: 'the publisher sends a valid token and the subprotocol tidegate.publish.v1',
    section: PUSH,
  },
  'accepted-ignored': {
    rule: 'the publisher continues with the number after the accepted one, or sends a SNAPSHOT',
    section: PUSH,
  },
  'market-unknown': { rule: 'only markets permitted for the client are sent', section: PUSH },
  'level-unknown': { rule: 'a removed level was in the book', section: UPDATE, isWarning: true },
  'number-repeated': { rule: 'a message is sent once on a connection', section: REACTIONS, isWarning: true },
  'snapshot-skips': {
    rule: 'messages before a SNAPSHOT are sent too: executions among them are reported as missed',
    section: REACTIONS,
    isWarning: true,
  },
  'time-backwards': {
    rule: 'a message’s time is not before the previous message’s',
    section: MESSAGES,
    isWarning: true,
  },
  'token-not-checked': { rule: 'a connection with a wrong token is refused', section: PULL, isWarning: true },
} as const satisfies Readonly<Record<string, PublisherRule>>

export type PublisherRuleName = keyof typeof PUBLISHER_RULES

export function isWarning(name: PublisherRuleName): boolean {
  return 'isWarning' in PUBLISHER_RULES[name]
}

/**
 * Reports a broken rule.
 * @param detail what was seen, as a sentence without an end
 * @param text the message, where there is one
 */
export type ReportBroken = (name: PublisherRuleName, market: string | undefined, detail: string, text?: string) => void
