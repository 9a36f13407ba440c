/**
 * Composes the service from its configuration. It selects the bus engine, and `open-store` selects the store's; no
 * other file names a concrete engine. Parts start in the order of their dependencies and stop in reverse order. A
 * failing start stops whatever it has started. The listeners open first and answer customers 503 until the store has
 * delivered what the modules need: its schema, the directory, and the last run's commit times, before which no market
 * commits.
 */

import type { ClientCredentials, DemoClient } from '../access/clients/demo-client.ts'
import { Directory } from '../access/clients/directory.ts'
import { Meter } from '../access/metering/meter.ts'
import { createMetricsRegistry } from '../platform/base/metrics.ts'
import { createMemoryBus } from '../streaming/sequencing/bus-memory.ts'
import { applyConfig } from './apply-config.ts'
import type { ConfigResult } from './config/load.ts'
import { hasRole, movesMoney } from './config/roles.ts'
import { SET_BY_PROGRAM } from './config/settings-in-force.ts'
import { createVerifier } from './config/token-issuer.ts'
import { createDemoPage } from './pages/demo-page.ts'
import { createAccess, startAccess, startDemoClient } from './parts/access/access.ts'
import { startAccessWorkers } from './parts/access/start-workers.ts'
import { createUsageWriter } from './parts/access/usage-writer.ts'
import { createMoney } from './parts/money/money.ts'
import { startLedger } from './parts/money/start-ledger.ts'
import { startMoneyWorkers } from './parts/money/start-workers.ts'
import type { Parts, ServiceOptions } from './parts/parts.ts'
import { createIngest, startIngestListener } from './parts/streaming/start-ingest.ts'
import { createStreaming, startStreaming, stopWriting } from './parts/streaming/streaming.ts'
import { checkDescriptorLimit } from './process/descriptors.ts'
import { Lifecycle, type Stoppable } from './process/lifecycle.ts'
import { waitFor } from './process/store-wait.ts'
import { createReloadCounter, reload } from './reload.ts'
import { type ListenerAddresses, startOperatorListener, startPublicListener } from './start-listeners.ts'
import { startReadiness } from './start-readiness.ts'
import { openWatchedStore, startStore } from './start-store.ts'

export interface Service extends Stoppable {
  readonly addresses: ListenerAddresses
  /** Applies a reloaded configuration's live settings, and logs the keys that need a restart. */
  reload(result: ConfigResult): void
  /** Creates the demo client unless `existing` credentials are still valid. Resolves when this node accepts it. */
  ensureDemoClient(existing: ClientCredentials | undefined): Promise<DemoClient>
}

/** Time limit for a shutdown, in addition to the two configured waits. */
const STOP_MILLISECONDS_MAX = 15_000

export async function startService(options: ServiceOptions): Promise<Service> {
  const directory = new Directory()
  const current = { config: options.config, origins: options.origins ?? SET_BY_PROGRAM }
  const metrics = createMetricsRegistry()
  const verifier = createVerifier({ ...options, directory })
  const state: Parts['state'] = {
    schema: undefined,
    storeDefaults: [],
    started: false,
    draining: false,
    publicUrl: options.config['http.public_url'],
    streamUrl: options.config['stream.public_url'],
  }
  const parts: Parts = {
    ...options,
    current,
    lifecycle: new Lifecycle(options.log),
    metrics,
    bus: options.bus ?? createMemoryBus(),
    directory,
    verifier,
    meter: new Meter(options.clock),
    signal: options.signal ?? new AbortController().signal,
    demoPage: createDemoPage({ ...options, streamUrl: () => state.streamUrl }, directory, current),
    ingest: createIngest({ ...options, current, metrics, directory, verifier }),
    state,
  }
  try {
    return await startParts(parts)
  } catch (error) {
    parts.state.draining = true
    await parts.lifecycle.stop()
    throw error
  }
}

async function startParts(parts: Parts): Promise<Service> {
  const { config, log, lifecycle, state } = parts
  checkDescriptorLimit(config, log)
  const store = await openWatchedStore(parts)
  const { db } = store
  const access = await createAccess(parts, db)
  const usage = createUsageWriter(parts, db, () => streaming.hub)
  const streaming = createStreaming(parts, db, access.loader, usage, () => readiness().ready)
  const readiness = startReadiness(parts, { db, ...streaming })
  const money = movesMoney(config) ? createMoney(parts, db, streaming.priceBooks) : undefined
  const served = { store, access, streaming, money, readiness }
  const operator = await startOperatorListener(parts, served)
  // Stopped after the public listener, whose drain still sends data.
  lifecycle.started('sources', () => stopWriting(streaming))
  const ingest = await startIngestListener(parts)
  const listener = await startPublicListener(parts, served)
  state.publicUrl ||= listener.url
  // Logged before the wait for the store: while it is unavailable, `/readyz` at this address gives the reason.
  const opened = { operator: operator.url, ...(ingest === undefined ? {} : { ingest: ingest.url }) }
  log.info({ http: listener.url, ...opened }, 'listening')
  await startStore(parts, store, access.encryptionKey)
  if (money !== undefined) await startLedger(parts, db, money.ledger)
  await startAccess(parts, db, access)
  await usage.start()
  await startStreaming(parts, db, streaming)
  if (hasRole(config, 'worker')) {
    const workerParts = { ...parts, db, encryptionKey: access.encryptionKey }
    await startAccessWorkers(workerParts)
    if (money !== undefined) await startMoneyWorkers({ ...workerParts, ...money })
  }
  const { local } = streaming
  if (local !== undefined) await waitFor(parts, 'gateway processes', local.processes.whenReady())
  state.started = true
  const { publicUrl, streamUrl } = state
  const ws = listener.stream?.url ?? listener.url.replace(/^http/, 'ws')
  const addresses = { http: listener.url, ws, ...opened, publicUrl, streamUrl }
  log.info(addresses, 'ready')
  const reloads = createReloadCounter(parts.metrics)
  return {
    addresses,
    get stopMillisecondsMax() {
      const { config } = parts.current
      return (config['http.drain_delay_seconds'] + config['stream.drain_seconds']) * 1000 + STOP_MILLISECONDS_MAX
    },
    reload(result) {
      const apply = () => applyConfig(parts, { ...streaming, listener, operator, ingest, ledger: money?.ledger })
      reloads.inc({ outcome: reload({ ...parts, ...state, apply, decimals: money?.ledger.decimals }, result) })
    },
    stop() {
      state.draining = true
      return lifecycle.stop()
    },
    ensureDemoClient: (existing) => startDemoClient(parts, db, access, existing),
  }
}
