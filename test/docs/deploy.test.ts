/**
 * The files of `deploy/`, as far as this repository can verify them: the configuration, and the names used in the
 * files.
 */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/service/config/load.ts'
import { checkDescriptorLimit } from '../../src/service/process/descriptors.ts'
import { captureLog } from '../support/captured-log.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

describe('the files of deploy/', () => {
  const result = loadConfig({
    flags: {},
    environment: {},
    file: join(ROOT, 'deploy/tidegate.yaml'),
    readFile: (path) => readFileSync(path, 'utf8'),
  })

  it('the files of deploy/ contain a valid configuration', () => {
    expect(result).toMatchObject({ ok: true, warnings: [] })
  })

  it('the files of deploy/ agree on the addresses of the public listener and the operator listener', () => {
    if (!result.ok) throw new Error('no configuration')
    const { config } = result
    expect(read('deploy/nginx.conf')).toContain(`server ${config['http.host']}:${config['http.port']};`)
    expect(read('deploy/prometheus.yml')).toContain(`'${config['operator.host']}:${config['operator.port']}'`)
    expect(read('deploy/nginx.conf')).toContain(`server_name ${new URL(config['http.public_url']).host};`)
    expect(read('deploy/tidegate.service')).toContain(`StateDirectory=${config.data_dir.split('/').at(-1)}`)
  })

  it('the files of deploy/ name the versions of Node that README and the package support', () => {
    expect(read('README.md')).toContain('Node.js 20.19 to 26 (24 recommended')
    for (const path of ['docs/how-to/production.md', 'deploy/tidegate.service', 'deploy/tidegate@.service']) {
      expect(read(path), path).toMatch(/Node\.js 24[ .][\s\S]*20\.19 to 26/)
    }
    expect(JSON.parse(read('package.json')).engines).toEqual({ node: '>=20.19 <27' })
    expect(read('scripts/test-nodes.mjs')).toContain("LINES = ['20', '22', '24', '26']")
  })

  it('the files of deploy/ give the process time to end a hanging event loop before systemd does', () => {
    if (!result.ok) throw new Error('no configuration')
    const unit = read('deploy/tidegate.service')
    expect(unit).toMatch(/^Type=notify$/m)
    expect(unit).toMatch(/^NotifyAccess=all$/m)
    const watchdogSeconds = Number(/^WatchdogSec=([0-9]+)$/m.exec(unit)?.[1])
    expect(watchdogSeconds).toBeGreaterThan(result.config['process.hang_seconds'])
  })

  it("the files of deploy/ limit requests per address at the service's limits", () => {
    if (!result.ok) throw new Error('no configuration')
    const { config } = result
    const nginx = read('deploy/nginx.conf')
    const directive = (name: string): string => new RegExp(`^ *${name} +(.+);$`, 'm').exec(nginx)?.[1] ?? ''
    expect(directive('limit_conn')).toBe(`tidegate_connections ${config['stream.connections_per_client_max']}`)
    expect(directive('limit_conn_zone')).toMatch(/^\$binary_remote_addr zone=tidegate_connections:/)
    expect(directive('limit_req')).toMatch(/^zone=tidegate_requests burst=\d+ nodelay$/)
    const rate = Number(/zone=tidegate_requests:16m rate=(\d+)r\/s$/.exec(directive('limit_req_zone'))?.[1])
    expect(rate).toBeGreaterThanOrEqual(config['rest.rate_per_second'])
    expect([directive('limit_conn_status'), directive('limit_req_status')]).toEqual(['429', '429'])
    const [count, size] = directive('large_client_header_buffers').split(' ')
    expect([count, Number.parseInt(size as string, 10) * 1024]).toEqual(['2', config['http.header_bytes_max']])
    expect([directive('client_header_timeout'), directive('client_body_timeout')]).toEqual(['10s', '10s'])
  })

  it('the files of deploy/ allow the service as many open files as its settings need', () => {
    if (!result.ok) throw new Error('no configuration')
    const { log, lines } = captureLog()
    const limit = /^LimitNOFILE=(\d+)$/m.exec(read('deploy/tidegate.service'))?.[1] as string
    checkDescriptorLimit(result.config, log, () => `Max open files            ${limit}     ${limit}     files`)
    expect(lines).toEqual([])
  })

  it('the files of deploy/ use an address for Prometheus that needs no operator.allowed_hosts', () => {
    const [, target = ''] = /targets: \['([^']+)'\]/.exec(read('deploy/prometheus.yml')) ?? []
    expect(isIP(target.split(':')[0] as string)).toBe(4)
  })

  it('the files of deploy/ are all installed by the guide', () => {
    const guide = read('docs/how-to/production.md')
    for (const name of ['tidegate.yaml', 'tidegate.service', 'nginx.conf', 'prometheus.yml']) {
      expect(guide).toContain(`deploy/${name}`)
    }
  })
})
