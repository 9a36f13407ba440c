/**
 * The OpenAPI documents of both listeners, the AsyncAPI document with the default settings, and the publishers' schema.
 * They are generated from the routes and the tables without a store. `npm run docs` writes them, and a test verifies
 * that the committed ones are current.
 */
import type { FastifyInstance } from 'fastify'
import { Directory } from '../src/access/clients/directory.ts'
import { PUBLICATION_SCHEMA } from '../src/contract/publication.ts'
import { servedScopes } from '../src/contract/scopes.ts'
import { createSystemClock } from '../src/platform/base/clock.ts'
import { createLog } from '../src/platform/base/log.ts'
import { createMetricsRegistry } from '../src/platform/base/metrics.ts'
import { programVersion } from '../src/platform/base/version.ts'
import { createHttpServer } from '../src/platform/http/server.ts'
import { asyncApiDocument } from '../src/service/api-docs/asyncapi.ts'
import { openApiDocument } from '../src/service/api-docs/openapi.ts'
import {
  type DescribedOperation,
  type DescribedPaths,
  type DescribedRoute,
  describedPaths,
  describeOperations,
  describeOperatorCalls,
} from '../src/service/api-docs/operations-document.ts'
import { operatorOpenApiDocument } from '../src/service/api-docs/operator-openapi.ts'
import { publisherAsyncApiDocument } from '../src/service/api-docs/publisher-asyncapi.ts'
import { loadConfig } from '../src/service/config/load.ts'
import type { Config } from '../src/service/config/settings.ts'
import type { ModuleRoutes } from '../src/service/listeners/listener.ts'
import { registerOperatorApi } from '../src/service/listeners/operator-listener.ts'
import { operatorModules, publicModules } from '../src/service/modules.ts'

const config = defaultConfig()
/** A service's address with the default settings. */
const DEFAULT_URL = `http://${config['http.host']}:${config['http.port']}`
const DEFAULT_OPERATOR_URL = `http://${config['operator.host']}:${config['operator.port']}`

/** Each document's path from the root, and its text. */
export async function apiDocuments(): Promise<[path: string, text: string][]> {
  const about = { url: DEFAULT_URL, version: programVersion(), issuesTokens: true, scopes: servedScopes(true, true) }
  const openApi = openApiDocument({ ...about, paths: await pathsOfModules() })
  const operatorOpenApi = await operatorDocument()
  return [
    ['docs/reference/openapi.json', textOf(openApi)],
    ['docs/reference/operator-openapi.json', textOf(operatorOpenApi)],
    ['docs/reference/asyncapi.json', textOf(asyncApiDocument(about))],
    ['docs/reference/publisher-asyncapi.json', textOf(publisherAsyncApiDocument(about.version))],
    ['docs/reference/publication.schema.json', textOf(PUBLICATION_SCHEMA)],
  ]
}

/** The committed format: indented, for reading and line-by-line comparison. */
function textOf(document: unknown): string {
  return `${JSON.stringify(document, null, 2)}\n`
}

async function operatorDocument() {
  const app = createServer('operator')
  await describeOperatorCalls(app)
  registerOperatorApi(app, {
    db: absent(),
    clock: createSystemClock(),
    fourEyes: () => [],
    linkAddress: String,
    access: absent(),
    channel: absent(),
    authentication: absent(),
    modules: operatorModulesWithoutStore(),
  })
  const paths = await readyPaths<DescribedRoute>(app)
  return operatorOpenApiDocument({ paths, url: DEFAULT_OPERATOR_URL, version: programVersion() })
}

async function pathsOfModules() {
  const app = createServer('public')
  await describeOperations(app)
  for (const registerRoutes of modulesWithoutStore()) registerRoutes(app)
  return await readyPaths(app)
}

function createServer(listener: 'public' | 'operator'): FastifyInstance {
  return createHttpServer({
    listener,
    log: createLog('warn'),
    metrics: createMetricsRegistry(),
    headerBytesMax: config['http.header_bytes_max'],
    requestMilliseconds: 1_000,
    translate: () => undefined,
  })
}

async function readyPaths<Operation = DescribedOperation>(app: FastifyInstance): Promise<DescribedPaths<Operation>> {
  await app.ready()
  const paths = describedPaths<Operation>(app)
  await app.close()
  return paths
}

/** The public listener's modules, for their declarations only: they cannot answer requests. */
export function modulesWithoutStore(): readonly ModuleRoutes[] {
  return publicModules({
    db: absent(),
    directory: new Directory(),
    verifier: absent(),
    clock: createSystemClock(),
    // Including the operation served only for testing, which is documented too.
    current: { config: { ...config, 'rest.sandbox': true } },
    quotas: absent(),
    ratePerSecond: config['rest.rate_per_second'],
    hub: absent(),
    candles: absent(),
    isGateway: true,
    isSimulated: () => false,
    proofOf: () => 'NONE',
  })
}

/** The operator listener's modules, for their declarations only: they cannot answer requests. */
function operatorModulesWithoutStore(): readonly ModuleRoutes[] {
  return operatorModules({
    db: absent(),
    clock: createSystemClock(),
    log: createLog('warn'),
    metrics: createMetricsRegistry(),
    current: { config, origins: absent() },
    money: absent({ quotas: absent(), ledgerState: absent(), converter: undefined }),
    issuesTokens: true,
    scopes: servedScopes(true, true),
    linkAddress: absent(),
    renewFirstLink: absent(),
    refreshDirectory: absent(),
    readiness: absent(),
    overview: absent(),
    hub: absent({ sessions: [] }),
    candleReader: absent(),
    cluster: { nodes: absent({ name: '' }), questions: absent({ answer: () => undefined }) },
    sourcesOf: absent(),
    streamUrl: () => '',
    publicUrl: absent(),
  })
}

/** A dependency of a route's declaration, which uses at most these members and passes the rest on. */
function absent<Part extends object>(used: object = {}): Part {
  return new Proxy(used as Part, {
    get(target, name) {
      if (Object.hasOwn(target, name)) return target[name as keyof Part]
      throw new Error(`the description of the API needs no ${String(name)}`)
    },
  })
}

function defaultConfig(): Config {
  const result = loadConfig({ flags: {}, environment: {}, file: undefined, readFile: () => '' })
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.config
}
