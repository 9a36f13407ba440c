/**
 * Drawing for components that follow a market: at most one draw per frame and per interval, and none while the tab is
 * hidden.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import { type MarketFeed, marketFeed } from './market-feed.ts'

/**
 * Calls `draw` after market changes, without rendering the component: frequent changes are written directly to its own
 * elements.
 *
 * @param everyMilliseconds the minimum time between two draws
 */
export function useFeed(symbol: string, draw: (feed: MarketFeed) => void, everyMilliseconds: number): void {
  const drawRef = useRef(draw)
  drawRef.current = draw
  useEffect(() => {
    const feed = marketFeed(symbol)
    let timer: ReturnType<typeof setTimeout> | undefined
    let frame = 0
    let lastDraw = 0
    const run = () => {
      timer = undefined
      frame = requestAnimationFrame(() => {
        frame = 0
        lastDraw = performance.now()
        drawRef.current(feed)
      })
    }
    const schedule = () => {
      if (timer !== undefined || frame !== 0) return
      timer = setTimeout(run, Math.max(0, lastDraw + everyMilliseconds - performance.now()))
    }
    const stop = feed.subscribe(schedule)
    schedule()
    return () => {
      stop()
      clearTimeout(timer)
      cancelAnimationFrame(frame)
    }
  }, [symbol, everyMilliseconds])
}

/** A value from the feed as component state. The component is rendered when it changes. */
export function useFeedValue<Value>(symbol: string, read: (feed: MarketFeed) => Value, everyMilliseconds = 250): Value {
  const [value, setValue] = useState(() => read(marketFeed(symbol)))
  useFeed(symbol, (feed) => setValue(() => read(feed)), everyMilliseconds)
  return value
}
