/** The progress display of installations: with npm's own log lines, and a clock that the test controls. */
import { describe, expect, it } from 'vitest'
import { createInstallReport, showProgress } from '../../scripts/progress.mjs'

/** An output that keeps what was written, and a timer that fires when the test says so. */
function start(isTTY: boolean, text: (seconds: number) => string) {
  let written = ''
  let tick = (): void => undefined
  let period = 0
  const output = {
    isTTY,
    write(part: string) {
      written += part
    },
  }
  const every = (milliseconds: number, call: () => void) => {
    period = milliseconds
    tick = call
    return () => {
      tick = () => undefined
    }
  }
  const progress = showProgress(text, { output, every, lineSeconds: 30 })
  return { progress, written: () => written, tick: () => tick(), period: () => period }
}

describe('the progress display', () => {
  it('the progress display is one line that is rewritten each second on a terminal, and cleared at the end', () => {
    const { progress, written, tick, period } = start(true, (seconds) => `building, ${seconds} s`)
    expect(period()).toBe(1_000)
    tick()
    progress.note('a line of the compiler')
    progress.end()
    tick()
    const clear = '\r\u001b[2K'
    expect(written()).toBe(
      `${clear}tidegate: building, 0 s${clear}tidegate: building, 1 s${clear}a line of the compiler\n${clear}`,
    )
  })

  it('the progress display is a line in each period without a terminal', () => {
    const { progress, written, tick, period } = start(false, (seconds) => `building, ${seconds} s`)
    expect(period()).toBe(30_000)
    tick()
    progress.end()
    expect(written()).toBe('tidegate: building, 0 s\ntidegate: building, 30 s\n')
  })
})

describe('the report of an installation', () => {
  const notes: string[] = []
  const reportOf = (...lines: string[]) => {
    notes.length = 0
    const report = createInstallReport(200, (line: string) => notes.push(line))
    for (const line of lines) report.read(line)
    return report
  }

  it('the report of an installation counts the packages that were fetched', () => {
    const report = reportOf(
      'npm http fetch GET 200 https://registry.example/ws 12ms (cache miss)',
      'npm http fetch GET 200 https://registry.example/ws/-/ws-8.0.0.tgz 12ms (cache miss)',
      'npm warn deprecated something@1.0.0: old',
    )
    expect(report.text(3)).toBe('installing 200 packages with npm ci: 1 fetched, 3 s')
    expect(notes).toEqual([])
  })

  it('the report of an installation names an unreachable registry at the first attempt, once, and at the end what to do', () => {
    const report = reportOf(
      'npm http fetch GET https://registry.example/ws attempt 1 failed with EAI_AGAIN',
      'npm http fetch GET https://registry.example/zod attempt 1 failed with EAI_AGAIN',
    )
    expect(notes).toEqual([
      'tidegate: npm cannot reach https://registry.example (EAI_AGAIN) and tries again for about a minute; Ctrl-C ends',
    ])
    expect(report.failure()).toMatch(
      /https:\/\/registry\.example cannot be reached \(EAI_AGAIN\).*npm config set proxy/,
    )
  })

  it('an installation reports after ten seconds that no response has come, as with a firewall that drops packets', () => {
    expect(reportOf().text(9)).not.toContain('none yet')
    expect(reportOf().text(10)).toMatch(/0 fetched, 10 s, the registry has sent none yet$/)
  })

  it('the report of an installation passes on all other lines', () => {
    const report = reportOf('npm error code EACCES', '')
    expect(notes).toEqual(['npm error code EACCES'])
    expect(report.failure()).toBe('installation failed (npm ci); the lines above say why')
  })
})
