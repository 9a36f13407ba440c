/**
 * An instrument's state from SecurityTradingStatus (326) and TradingSessionSubID (625) in a SecurityStatus message.
 * Values unrelated to whether trading is possible leave the state as it is. A venue's own values, and its own meaning
 * for standard ones, come from the configuration.
 */

/** @typedef {'OPEN' | 'HALTED' | 'AUCTION' | 'CLOSED'} State */
/** @typedef {Readonly<Record<string, State>>} States By a field's value. */

/** @type {States} */
const BY_TRADING_STATUS = {
  1: 'HALTED', // opening delay
  2: 'HALTED', // trading halt
  3: 'OPEN', // resume
  4: 'HALTED', // no open, no resume
  5: 'AUCTION', // price indication
  14: 'AUCTION', // ITS pre-opening
  15: 'AUCTION', // new price indication
  17: 'OPEN', // ready to trade
  18: 'CLOSED', // not available for trading
  19: 'CLOSED', // not traded on this market
  21: 'AUCTION', // pre-open
  22: 'AUCTION', // opening rotation
  23: 'OPEN', // fast market
  24: 'AUCTION', // pre-cross
  25: 'AUCTION', // cross
  26: 'CLOSED', // post-close
}

/** @type {States} */
const BY_SESSION_PHASE = {
  1: 'AUCTION', // pre-trading: orders are collected
  2: 'AUCTION', // opening auction
  3: 'OPEN', // continuous trading
  4: 'AUCTION', // closing auction
  5: 'CLOSED', // post-trading
  6: 'AUCTION', // scheduled intraday auction
  7: 'HALTED', // quiescent
  8: 'AUCTION', // any auction
  9: 'AUCTION', // unscheduled intraday auction
  10: 'CLOSED', // out of main session trading
}

/**
 * The state from both fields: a halt or a close in 326 is stronger than the phase, and the phase is more precise than
 * an open 326. Undefined where neither determines a state.
 * @param {string | undefined} tradingStatus
 * @param {string | undefined} sessionPhase
 * @param {{ tradingStatus: States, sessionPhase: States }} own
 * @returns {State | undefined}
 */
export function stateOf(tradingStatus, sessionPhase, own) {
  const byStatus = lookUp(tradingStatus, own.tradingStatus, BY_TRADING_STATUS)
  const byPhase = lookUp(sessionPhase, own.sessionPhase, BY_SESSION_PHASE)
  if (byStatus === 'HALTED' || byStatus === 'CLOSED') return byStatus
  return byPhase ?? byStatus
}

/** @param {string | undefined} value @param {States} own @param {States} standard @returns {State | undefined} */
function lookUp(value, own, standard) {
  if (value === undefined) return undefined
  return Object.hasOwn(own, value) ? own[value] : Object.hasOwn(standard, value) ? standard[value] : undefined
}
