/** The limit of open files is compared with the settings at the start, using the numbers that the kernel reports. */
import { describe, expect, it } from 'vitest'
import type { Config } from '../../../src/service/config/settings.ts'
import { checkDescriptorLimit, hasDescriptor } from '../../../src/service/process/descriptors.ts'
import { captureLog } from '../../support/captured-log.ts'

const limits = (soft: string) =>
  `Limit                     Soft Limit           Hard Limit           Units     \n` +
  `Max processes             95000                95000                processes \n` +
  `Max open files            ${soft.padEnd(20)} 1048576              files     \n`

function warningsAt(connectionsMax: number, text: string, roles = ['feed', 'gateway']): Record<string, unknown>[] {
  const { log, lines } = captureLog()
  checkDescriptorLimit({ 'stream.connections_max': connectionsMax, roles } as unknown as Config, log, () => text)
  return lines.map((line) => JSON.parse(line))
}

describe('the limit of open files', () => {
  it('the open-file limit causes a warning that names limit and settings when it is too low', () => {
    const [warning, ...others] = warningsAt(50_000, limits('58703'))
    expect(others).toEqual([])
    expect(warning).toMatchObject({ level: 40, limit: 58_703, needed: 58_704, 'stream.connections_max': 50_000 })
    expect(warning?.msg).toMatch(/LimitNOFILE.*stream\.connections_max/)
  })

  it.each([
    ['that fits', limits('58704')],
    ['that is unlimited', limits('unlimited')],
    ['that cannot be read', ''],
  ])('the open-file limit causes no warning: %s', (_case, text) => {
    expect(warningsAt(50_000, text)).toEqual([])
  })

  it('the open-file limit does not have to suffice for the stream in a process that does not serve it', () => {
    expect(warningsAt(50_000, limits('8704'), ['feed', 'api'])).toEqual([])
    const [warning] = warningsAt(50_000, limits('8703'), ['feed', 'api'])
    expect(warning).toMatchObject({ limit: 8_703, needed: 8_704 })
    expect(JSON.stringify(warning)).not.toContain('stream.connections_max')
  })

  it('the open-file limit is high enough on this machine', () => {
    expect(hasDescriptor()).toBe(true)
  })
})
