/** The files of `deploy/` that this repository can judge: the configuration, and what the files name in it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

describe('the files of deploy/', () => {
  const result = loadConfig({
    flags: {},
    environment: {},
    file: join(ROOT, 'deploy/tidegate.yaml'),
    readFile: (path) => readFileSync(path, 'utf8'),
  })

  it('hold a configuration without a problem', () => {
    expect(result).toMatchObject({ ok: true, warnings: [] })
  })

  it('agree on addresses: the proxy finds the public listener, Prometheus the operator listener', () => {
    if (!result.ok) throw new Error('no configuration')
    const { config } = result
    expect(read('deploy/nginx.conf')).toContain(`server ${config['http.host']}:${config['http.port']};`)
    expect(read('deploy/prometheus.yml')).toContain(`'${config['operator.host']}:${config['operator.port']}'`)
    expect(read('deploy/nginx.conf')).toContain(`server_name ${new URL(config['http.public_url']).host};`)
    expect(read('deploy/tidegate.service')).toContain(`StateDirectory=${config.data_dir.split('/').at(-1)}`)
  })

  it('let the process end a hanging event loop before systemd does', () => {
    if (!result.ok) throw new Error('no configuration')
    const unit = read('deploy/tidegate.service')
    expect(unit).toMatch(/^Type=notify$/m)
    expect(unit).toMatch(/^NotifyAccess=all$/m)
    const watchdogSeconds = Number(/^WatchdogSec=([0-9]+)$/m.exec(unit)?.[1])
    expect(watchdogSeconds).toBeGreaterThan(result.config['process.hang_seconds'])
  })

  it('are all installed by the guide', () => {
    const guide = read('docs/guide/production.md')
    for (const name of ['tidegate.yaml', 'tidegate.service', 'nginx.conf', 'prometheus.yml']) {
      expect(guide).toContain(`deploy/${name}`)
    }
  })
})
