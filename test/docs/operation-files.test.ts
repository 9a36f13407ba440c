/**
 * Files of deploy/ for the system around the service: the unit, checked by systemd, the kernel's settings, Alertmanager
 * and Grafana. They name only what exists, and what they repeat is equal to its origin.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { dashboard } from '../../scripts/grafana-dashboard.mjs'
import { loadConfig } from '../../src/service/config/load.ts'
import { ROOT, readText, readYaml } from './deployment-files.ts'

const has = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0

describe('the unit', () => {
  const hasSystemd = has('systemd-analyze', '--version')
  /** In tenths, of 10; higher is more exposed. */
  const EXPOSURE_MAX = 20

  it.skipIf(!hasSystemd).each(['tidegate.service', 'tidegate@.service'])(
    '%s is valid and hardened (needs systemd-analyze)',
    (name) => {
      const file = join(ROOT, 'deploy', name)
      const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
      expect([verified.status, verified.stderr]).toEqual([0, ''])
      const security = ['security', '--offline=true', `--threshold=${EXPOSURE_MAX}`, file]
      const { status, stdout } = spawnSync('systemd-analyze', security, { encoding: 'utf8' })
      expect(status, stdout.split('\n').at(-2)).toBe(0)
    },
  )
})

describe('the units of the roles', () => {
  const unit = readText('deploy/tidegate@.service')

  it("the role units differ from the single-node unit only in each role's own parts", () => {
    const own = /^(#|Description=|Environment|StateDirectory=|After=)/
    const rest = (text: string) => text.split('\n').filter((line) => !own.test(line))
    expect(rest(unit)).toEqual(rest(readText('deploy/tidegate.service')))
    expect(unit).toMatch(/^Environment=TIDEGATE_ROLES=%i TIDEGATE_DATA_DIR=\/var\/lib\/tidegate\/%i$/m)
    expect(unit).toMatch(/^EnvironmentFile=\/etc\/tidegate\/%i\.env$/m)
    expect(unit).toMatch(/^StateDirectory=tidegate\/%i$/m)
  })

  it('the role units have a settings file for each role, with ports that no other has', () => {
    const ports = ['feed', 'gateway', 'api', 'worker'].flatMap((role) => {
      const lines = readText(`deploy/roles/${role}.env`)
        .split('\n')
        .filter((line) => /^[^#]/.test(line))
      const environment = Object.fromEntries(lines.map((line) => line.split('=') as [string, string]))
      const result = loadConfig({
        flags: {},
        environment: {
          ...environment,
          TIDEGATE_ROLES: role,
          TIDEGATE_DATA_DIR: `/var/lib/tidegate/${role}`,
          TIDEGATE_BUS_URL: 'nats://tidegate:secret@127.0.0.1',
        },
        file: join(ROOT, 'deploy/tidegate.yaml'),
        readFile: (path) => readFileSync(path, 'utf8'),
      })
      expect(result).toMatchObject({ ok: true, warnings: [] })
      return result.ok ? [result.config['http.port'], result.config['operator.port']] : []
    })
    expect(new Set(ports).size).toBe(8)
  })
})

describe('the settings of the kernel', () => {
  const settings = [...readText('deploy/sysctl.conf').matchAll(/^([\w.]+) = (.+)$/gm)].map(([, key]) => key as string)

  it('the kernel settings each have a line in the page about sizing', () => {
    const page = readText('docs/how-to/sizing.md')
    expect(settings.length).toBeGreaterThan(5)
    for (const key of settings) expect(page, key).toContain(`\`${key}`)
    // A fixed number of the machine's descriptors would lower what the kernel allows from 10 GB of memory on.
    expect(settings).not.toContain('fs.file-max')
  })

  it.skipIf(process.platform !== 'linux')('the kernel settings exist in the kernel (on Linux)', () => {
    expect(settings.filter((key) => !existsSync(`/proc/sys/${key.replaceAll('.', '/')}`))).toEqual([])
  })
})

describe('the configuration of Alertmanager', () => {
  interface Rule {
    readonly alert: string
    readonly labels: { readonly severity: string }
  }
  const { groups } = parse(readText('docs/how-to/monitoring/alert-rules.yaml')) as { groups: { rules: Rule[] }[] }
  const rules = groups.flatMap((group) => group.rules)

  it('the Alertmanager configuration matches severities and alerts that exist', () => {
    const matchers = [...readText('deploy/alertmanager.yml').matchAll(/'(\w+)="(\w+)"'/g)]
    expect(matchers).toHaveLength(3)
    for (const [text, name, value] of matchers) {
      const values = rules.map(({ alert, labels }) => (name === 'severity' ? labels.severity : alert))
      expect(values, text).toContain(value)
    }
  })

  it.skipIf(!has('amtool', '--version'))('the Alertmanager configuration is valid (needs amtool)', () => {
    expect(has('amtool', 'check-config', join(ROOT, 'deploy/alertmanager.yml'))).toBe(true)
  })
})

describe('the provisioning of Grafana', () => {
  it('the Grafana provisioning has a data source of the kind that the dashboard needs, with the scrape interval', () => {
    const wanted = dashboard().templating.list.find(({ name }) => name === 'datasource')
    const [source] = readYaml<{ datasources: { type: string; jsonData: object }[] }>(
      'deploy/grafana/datasource.yaml',
    ).datasources
    expect(source?.type).toBe(wanted?.query)
    const { global } = readYaml<{ global: { scrape_interval: string } }>('deploy/prometheus.yml')
    expect(source?.jsonData).toEqual({ timeInterval: global.scrape_interval })
  })

  it('the Grafana provisioning reads the dashboard from the folder into which the page puts it', () => {
    const [provider] = readYaml<{ providers: { options: { path: string } }[] }>(
      'deploy/grafana/dashboard.yaml',
    ).providers
    expect(readText('docs/how-to/monitoring/README.md')).toContain(
      `dist/grafana-dashboard.json ${provider?.options.path}/`,
    )
  })
})
