/**
 * The manifests of deploy/kubernetes, as far as they can be checked without a cluster: the configuration of every pod is
 * valid, ports, selectors, volumes and Secrets fit together, and times fit the settings. Where `kubectl` is installed,
 * the folders are built with it.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { configOfContainer, ROOT, readDocuments, readStages, readText, readYaml } from './deployment-files.ts'
import { lastOf } from './image-stages.ts'

type Labels = Readonly<Record<string, string>>
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
  readonly periodSeconds: number
  readonly failureThreshold: number
}

interface Container {
  readonly name: string
  readonly image: string
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly securityContext: object
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
}

interface Pod {
  readonly terminationGracePeriodSeconds?: number
  readonly enableServiceLinks: boolean
  readonly automountServiceAccountToken: boolean
  readonly topologySpreadConstraints?: readonly object[]
  readonly securityContext: Readonly<Record<string, unknown>>
  readonly containers: readonly [Container]
  readonly volumes: readonly {
    readonly name: string
    readonly configMap?: { name: string }
    readonly secret?: object
  }[]
}

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly selector?: Labels & { readonly matchLabels?: Labels }
    readonly podSelector?: { readonly matchLabels: Labels }
    readonly template?: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod }
    readonly replicas?: number
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
    readonly ports?: readonly { readonly targetPort: string }[]
    readonly ingress?: readonly { readonly from?: readonly object[]; readonly ports: readonly { port: string }[] }[]
    readonly rules?: readonly {
      readonly http: {
        readonly paths: readonly {
          readonly path: string
          readonly pathType: string
          readonly backend: { readonly service: { name: string } }
        }[]
      }
    }[]
    readonly ttlSecondsAfterFinished?: number
    readonly scaleTargetRef?: { readonly kind: string; readonly name: string }
    readonly metrics?: readonly { readonly pods?: { readonly metric: { readonly name: string } } }[]
  }
}

interface Kustomization {
  readonly resources: readonly string[]
  readonly configMapGenerator: readonly { readonly name: string; readonly files: readonly string[] }[]
  readonly images: readonly { readonly name: string; readonly newTag: string }[]
}

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0
const image = readStages('Dockerfile').at(-1) ?? []
const imageEnvironment = Object.fromEntries(
  image.filter(({ name }) => name === 'ENV').map(({ words }) => words.split('=') as [string, string]),
)

describe.each(['one-node', 'postgresql'])('deploy/kubernetes/%s', (name) => {
  const folder = `deploy/kubernetes/${name}`
  const kustomization = readYaml<Kustomization>(`${folder}/kustomization.yaml`)
  const manifests = kustomization.resources.flatMap((file) => readDocuments<Manifest>(`${folder}/${file}`))
  const pods = manifests.flatMap(({ kind, spec }) =>
    spec.template === undefined ? [] : { kind, ...spec, ...spec.template },
  )
  const services = pods.filter(({ kind }) => kind !== 'Job')
  const of = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)

  function configOf({ containers: [container] }: Pod) {
    const environment = Object.fromEntries(container.env.map(({ name: key, value }) => [key, value]))
    const path = environment.TIDEGATE_CONFIG as string
    const mounted = { [path]: `${folder}/tidegate.yaml` }
    const result = configOfContainer({ ...imageEnvironment, ...environment }, path, mounted)
    if (!result.ok) throw new Error(JSON.stringify(result.problems))
    expect(result.warnings).toEqual([])
    return result.config
  }

  it('the manifest has a valid configuration for every pod, without a variable that is not a setting', () => {
    expect(services).toHaveLength(1)
    for (const { spec } of pods) configOf(spec)
  })

  it('the manifest gives every volume a mount and the config map and the Secret their names', () => {
    for (const { spec, volumeClaimTemplates = [] } of pods) {
      const volumes = [
        ...spec.volumes.map((volume) => volume.name),
        ...volumeClaimTemplates.map(({ metadata }) => metadata.name),
      ]
      expect(spec.containers[0].volumeMounts.map((mount) => mount.name).sort()).toEqual(volumes.sort())
      const maps = spec.volumes.flatMap(({ configMap }) => configMap?.name ?? [])
      expect(maps).toEqual(kustomization.configMapGenerator.map((map) => map.name))
      for (const { secret } of spec.volumes)
        if (secret !== undefined) expect(secret).toEqual({ secretName: 'tidegate', defaultMode: 0o440 })
      const paths = spec.containers[0].volumeMounts.map(({ mountPath }) => mountPath)
      for (const { name: key, value } of spec.containers[0].env)
        if (value.startsWith('/'))
          expect(
            paths.some((path) => value.startsWith(`${path}/`)),
            key,
          ).toBe(true)
    }
  })

  it('the manifest keeps data in a folder below a volume, because the root of one may be writable by every user', () => {
    for (const { spec } of services) {
      const [mount] = spec.containers[0].volumeMounts.filter((candidate) => candidate.name === 'data')
      expect(configOf(spec).data_dir).toBe(`${mount?.mountPath}/data`)
    }
  })

  it('the manifest lets pods run as the user of the image, without rights, on a read-only file system', () => {
    const [uid] = lastOf(image, 'USER').split(':').map(Number)
    for (const { spec } of pods) {
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: uid, fsGroup: uid })
      expect(spec.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      // Variables of Services begin with TIDEGATE_ too.
      expect([spec.enableServiceLinks, spec.automountServiceAccountToken]).toEqual([false, false])
      expect(kustomization.images.map((entry) => entry.name)).toEqual([spec.containers[0].image])
    }
  })

  it('the manifest probes the operator listener by address, and lets a drain end', () => {
    for (const { spec } of services) {
      const config = configOf(spec)
      const [{ ports = [], startupProbe, livenessProbe, readinessProbe }] = spec.containers
      expect(ports).toEqual([
        { name: 'http', containerPort: config['http.port'] },
        { name: 'operator', containerPort: config['operator.port'] },
      ])
      expect([config['http.host'], config['operator.host']]).toEqual(['0.0.0.0', '0.0.0.0'])
      expect(startupProbe?.httpGet).toEqual({ path: '/livez', port: 'operator' })
      expect(livenessProbe?.httpGet).toEqual({ path: '/livez', port: 'operator' })
      expect(readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'operator' })
      const drainSeconds = config['http.drain_delay_seconds'] + config['stream.drain_seconds'] + 15
      expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drainSeconds)
      // One probe that a busy machine answers late takes no pod out of the Service.
      expect(readinessProbe?.failureThreshold).toBe(3)
      // The proxies notice a pod that is not ready while it still accepts connections.
      const { periodSeconds = 0, failureThreshold = 0 } = readinessProbe ?? {}
      expect(config['http.drain_delay_seconds']).toBeGreaterThanOrEqual(periodSeconds * failureThreshold + 3)
    }
  })

  it('the manifest selects the pods of the service everywhere, and no others', () => {
    const [labels] = services.map(({ metadata }) => metadata.labels)
    for (const { spec } of manifests.filter(({ kind }) => kind !== 'Job')) {
      const selector = spec.podSelector?.matchLabels ?? spec.selector?.matchLabels ?? spec.selector
      if (selector !== undefined) expect(selector).toEqual(labels)
    }
    for (const { kind, metadata } of pods) if (kind === 'Job') expect(metadata.labels).not.toEqual(labels)
    for (const { spec } of of('Service')) expect(spec.ports?.map(({ targetPort }) => targetPort)).toEqual(['http'])
  })

  it('the manifest lets only the namespace of the monitoring reach the operator listener', () => {
    const [{ ingress = [] } = { ingress: undefined }] = of('NetworkPolicy').map(({ spec }) => spec)
    const open = ingress.filter(({ from }) => from === undefined).flatMap(({ ports }) => ports.map(({ port }) => port))
    const limited = ingress
      .filter(({ from }) => from !== undefined)
      .flatMap(({ ports }) => ports.map(({ port }) => port))
    expect([open, limited]).toEqual([['http'], ['operator']])
  })

  it.skipIf(!hasKubectl)('the manifest is built by kubectl (needs kubectl)', () => {
    const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', join(ROOT, folder)], { encoding: 'utf8' })
    expect(status, stderr).toBe(0)
    expect(stdout).not.toMatch(/image: tidegate$/m)
  })
})

describe('deploy/kubernetes/roles', () => {
  const folder = 'deploy/kubernetes/roles'
  const ROLES = ['feed', 'gateway', 'api', 'worker']
  const [base] = readDocuments<Manifest>(`${folder}/base/deployment.yaml`)
  const pod = base?.spec.template?.spec as Pod
  const [container] = pod.containers

  interface Patch {
    readonly op: string
    readonly path: string
    readonly value: { readonly name?: string; readonly value?: string }
  }

  const patchesOf = (role: string): Patch[] =>
    readYaml<{ patches: { patch: string }[] }>(`${folder}/${role}/kustomization.yaml`).patches.flatMap(
      ({ patch }) => parse(patch) as Patch[],
    )

  it.each(ROLES)('deploy/kubernetes/roles has a valid configuration for the role %s', (role) => {
    const added = patchesOf(role).flatMap(({ path, value }) => (path.endsWith('/env/-') ? [value] : []))
    expect(added).toEqual([{ name: 'TIDEGATE_ROLES', value: role }])
    const environment = Object.fromEntries([...container.env, ...added].map(({ name, value }) => [name, value]))
    const path = environment.TIDEGATE_CONFIG as string
    const mounted = { [path]: `${folder}/tidegate.yaml` }
    const result = configOfContainer({ ...imageEnvironment, ...environment } as Labels, path, mounted)
    expect(result).toMatchObject({ ok: true, warnings: [] })
    if (!result.ok) return
    const { config } = result
    expect(config.roles).toEqual([role])
    const drainSeconds = config['http.drain_delay_seconds'] + config['stream.drain_seconds'] + 15
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drainSeconds)
    // An autoscaler sets the number of the others.
    const replicas = patchesOf(role).flatMap(({ path, value }) => (path === '/spec/replicas' ? [value] : []))
    expect(replicas).toEqual(['feed', 'worker'].includes(role) ? [2] : [])
  })

  it('deploy/kubernetes/roles differs from the nodes on PostgreSQL in the bus alone', () => {
    const [node] = readDocuments<Manifest>('deploy/kubernetes/postgresql/deployment.yaml')
    const bus = { name: 'TIDEGATE_BUS_URL_FILE', value: '/run/secrets/tidegate/bus-url' }
    const without = {
      ...pod,
      containers: [{ ...container, env: container.env.filter(({ name }) => name !== bus.name) }],
    }
    expect(without).toEqual(node?.spec.template?.spec)
    expect(container.env).toContainEqual(bus)
    for (const file of ['migrate.yaml', 'network-policy.yaml', 'tidegate.yaml'])
      expect(readText(`${folder}/${file}`)).toBe(readText(`deploy/kubernetes/postgresql/${file}`))
    const page = readText('docs/how-to/kubernetes.md')
    expect(page).toContain('--from-file=bus-url')
  })

  it.skipIf(!hasKubectl)(
    'deploy/kubernetes/roles is built by kubectl (needs kubectl): each selector names one role',
    () => {
      const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', join(ROOT, folder)], { encoding: 'utf8' })
      expect(status, stderr).toBe(0)
      const built = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest)
      const named = (kind: string) => built.filter((manifest) => manifest.kind === kind)
      const labelsOf = (role: string) => ({
        'app.kubernetes.io/name': 'tidegate',
        'app.kubernetes.io/component': role,
      })
      const names = ROLES.map((role) => `tidegate-${role}`).sort()
      for (const kind of ['Deployment', 'PodDisruptionBudget']) {
        expect(named(kind).map(({ metadata }) => metadata.name)).toEqual(names)
        for (const { metadata, spec } of named(kind))
          expect(spec.selector?.matchLabels).toEqual(labelsOf(metadata.name.replace('tidegate-', '')))
      }
      for (const { spec, metadata } of named('Deployment'))
        expect(spec.template?.metadata.labels).toMatchObject(labelsOf(metadata.name.replace('tidegate-', '')))
      const served = named('Service').map(({ metadata, spec }) => [metadata.name, spec.selector])
      expect(served).toEqual(['api', 'gateway'].map((role) => [`tidegate-${role}`, labelsOf(role)]))
      const scaled = named('HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef?.name)
      expect(scaled).toEqual(['tidegate-api', 'tidegate-gateway'])
      const [rule] = named('Ingress').map(({ spec }) => spec.rules?.[0]?.http.paths)
      // The gateways alone have books, trades, tickers and candles. The list of markets is the API's.
      expect(rule?.map(({ path, pathType, backend }) => [path, pathType, backend.service.name])).toEqual([
        ['/', 'Exact', 'tidegate-gateway'],
        ['/v2/markets', 'Exact', 'tidegate-api'],
        ['/v2/markets', 'Prefix', 'tidegate-gateway'],
        ['/', 'Prefix', 'tidegate-api'],
      ])
      // All of them use the same generated config map, whose name has a hash.
      const maps = built.flatMap(
        ({ spec }) => spec?.template?.spec.volumes.flatMap(({ configMap }) => configMap?.name ?? []) ?? [],
      )
      expect(new Set(maps)).toEqual(new Set(named('ConfigMap').map(({ metadata }) => metadata.name)))
      expect(stdout).not.toMatch(/image: tidegate$/m)
    },
  )
})

describe.each(['postgresql', 'roles'])('a private certificate authority in deploy/kubernetes/%s', (name) => {
  const folder = `deploy/kubernetes/${name}`

  it('a private certificate authority has a file in every pod, which PostgreSQL and NATS get as the guide shows', () => {
    const { configMapGenerator } = readYaml<Kustomization>(`${folder}/kustomization.yaml`)
    expect(configMapGenerator.flatMap(({ files }) => files)).toEqual(['tidegate.yaml', 'ca.crt'])
    // Empty until it is filled: it has comments alone.
    expect(readText(`${folder}/ca.crt`).split('\n')).toSatisfy((lines: string[]) =>
      lines.every((line) => line === '' || line.startsWith('#')),
    )
    const path = '/etc/tidegate/ca.crt'
    const page = readText('docs/how-to/kubernetes.md')
    expect(page).toContain(`sslrootcert=${path}`)
    const documents = [`${folder}/migrate.yaml`, `${folder}/${name === 'roles' ? 'base/' : ''}deployment.yaml`]
    for (const document of documents) {
      const [manifest] = readDocuments<Manifest>(document)
      const mounts = manifest?.spec.template?.spec.containers[0].volumeMounts
      expect(mounts).toContainEqual(expect.objectContaining({ name: 'config', mountPath: '/etc/tidegate' }))
    }
    if (name === 'roles')
      expect(readText(documents[1] as string)).toContain(`# - {name: TIDEGATE_BUS_TLS_CA_FILE, value: ${path}}`)
  })
})

describe('deploy/kubernetes', () => {
  it('deploy/kubernetes trusts the proxies of a range that the operator names, and no pod before that', () => {
    for (const name of ['one-node', 'postgresql', 'roles'])
      expect(readYaml(`deploy/kubernetes/${name}/tidegate.yaml`)).toMatchObject({
        // RFC 5737: addresses for documentation.
        http: { trusted_proxies: ['192.0.2.0/24'] },
      })
  })

  it('deploy/kubernetes has one process on the embedded store, and never two', () => {
    const [set] = readDocuments<Manifest>('deploy/kubernetes/one-node/statefulset.yaml')
    expect([set?.kind, set?.spec.replicas]).toEqual(['StatefulSet', 1])
  })

  it('deploy/kubernetes lets a start on the embedded store end its longest migration, which a restart would begin again', () => {
    const [set] = readDocuments<Manifest>('deploy/kubernetes/one-node/statefulset.yaml')
    const { periodSeconds = 0, failureThreshold = 0 } = set?.spec.template?.spec.containers[0].startupProbe ?? {}
    const [, milliseconds = ''] =
      /STATEMENT_MILLISECONDS_MAX = ([\d_]+)$/m.exec(readText('src/platform/store/migrate.ts')) ?? []
    expect(periodSeconds * failureThreshold).toBeGreaterThan((2 * Number(milliseconds.replaceAll('_', ''))) / 1_000)
  })

  it('deploy/kubernetes spreads the pods of an update over machines without counting those that it replaces', () => {
    for (const folder of ['postgresql', 'roles/base']) {
      const [deployment] = readDocuments<Manifest>(`deploy/kubernetes/${folder}/deployment.yaml`)
      expect(deployment?.spec.template?.spec.topologySpreadConstraints).toEqual([
        expect.objectContaining({ topologyKey: 'kubernetes.io/hostname', matchLabelKeys: ['pod-template-hash'] }),
      ])
    }
  })

  it('deploy/kubernetes lets Prometheus scrape the operator listener of the pods that have not ended', () => {
    const {
      scrape_configs: [scrape],
    } = readYaml<{ scrape_configs: [{ relabel_configs: object[] }] }>('deploy/kubernetes/prometheus.yaml')
    const label = '__meta_kubernetes_pod_'
    expect(scrape.relabel_configs.slice(0, 2)).toEqual([
      {
        source_labels: [`${label}label_app_kubernetes_io_name`, `${label}container_port_name`],
        regex: 'tidegate;operator',
        action: 'keep',
      },
      { source_labels: [`${label}phase`], regex: 'Failed|Succeeded', action: 'drop' },
    ])
  })

  it('deploy/kubernetes migrates with a Job before the nodes, which use the same Secret', () => {
    const [job] = readDocuments<Manifest>('deploy/kubernetes/postgresql/migrate.yaml')
    const [deployment] = readDocuments<Manifest>('deploy/kubernetes/postgresql/deployment.yaml')
    const secretsOf = (manifest: Manifest | undefined) =>
      manifest?.spec.template?.spec.containers[0].env.filter(({ name }) => name.endsWith('_FILE')) ?? []
    expect(job?.spec.template?.spec.containers[0].args).toEqual(['migrate'])
    // It names the configuration, and cannot be changed: while it is there, no other configuration can be applied.
    expect(job?.spec.ttlSecondsAfterFinished).toBe(3_600)
    expect(secretsOf(deployment)).toEqual(expect.arrayContaining(secretsOf(job)))
    expect(secretsOf(job)).toHaveLength(2)
    const page = readText('docs/how-to/kubernetes.md')
    for (const { value } of secretsOf(deployment)) expect(page).toContain(`--from-file=${value.split('/').at(-1)}`)
  })

  it('deploy/kubernetes scales the nodes on a metric that the service has and that the adapter of Prometheus passes on', () => {
    const [scaler] = readDocuments<Manifest>('deploy/kubernetes/postgresql/autoscaler.yaml')
    const [deployment] = readDocuments<Manifest>('deploy/kubernetes/postgresql/deployment.yaml')
    expect(scaler?.spec.scaleTargetRef).toMatchObject({ kind: deployment?.kind, name: deployment?.metadata.name })
    // With a number of its own, each `kubectl apply` would undo the autoscaler.
    expect(deployment?.spec.replicas).toBeUndefined()
    const [metric = ''] = scaler?.spec.metrics?.flatMap(({ pods }) => pods?.metric.name ?? []) ?? []
    expect(readText('docs/reference/metrics.md')).toContain(`| \`${metric}\` | gauge |`)
    const adapter = readYaml<{ rules: { custom: { seriesQuery: string }[] } }>(
      'deploy/kubernetes/postgresql/prometheus-adapter.yaml',
    )
    expect(adapter.rules.custom.map(({ seriesQuery }) => seriesQuery.split('{')[0])).toEqual([metric])
  })

  it('deploy/kubernetes has the same Service, network policy and configuration for both', () => {
    for (const file of ['service.yaml', 'network-policy.yaml', 'tidegate.yaml'])
      expect(readText(`deploy/kubernetes/postgresql/${file}`)).toBe(readText(`deploy/kubernetes/one-node/${file}`))
  })
})
