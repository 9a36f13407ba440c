/**
 * The findings about a configuration: its values, the files that they name, and the markets' sources. `tidegate
 * check-config` reports these alone, and `tidegate doctor` reports them with its own findings about the installation.
 */
import type { Clock } from '../../platform/base/clock.ts'
import { transportProblem } from '../../platform/store/transport-security.ts'
import { checkBooks } from '../../streaming/markets/book-check.ts'
import { feedTransportProblems } from '../config/feeds.ts'
import type { ConfigResult } from '../config/load.ts'
import type { Config } from '../config/settings.ts'
import type { Origins } from '../config/settings-in-force.ts'
import { examineAddressKeys } from './addresses.ts'
import { checkBusFiles } from './bus-files.ts'
import { examineCertificates, examineRecordingFolder } from './files.ts'
import { checkFindings, type Finding, nextOfConnection, ok, warn } from './finding.ts'
import { examineIssuerSecret } from './issuer-secret.ts'
import { checkModules } from './module-check.ts'
import { examinePegs } from './pegs.ts'
import { checkRecordings } from './recording-check.ts'
import { examineReview, examineSecondPersons } from './review.ts'
import { checkSources } from './source-check.ts'

/** Reports how many keys are set, or why the configuration cannot be used. */
export function examineResult(result: ConfigResult): Finding[] {
  const name = 'configuration'
  const see = 'tidegate check-config shows every key and where its value comes from'
  const warnings = result.warnings.map((warning) => warn(name, warning, see))
  if (!result.ok) {
    return [...checkFindings(name, { ...result, warnings: [] }, 'correct the value where it comes from'), ...warnings]
  }
  return [countKeys(result.origins), ...warnings]
}

export function countKeys(origins: Origins): Finding {
  const count = Object.values(origins).filter((origin) => origin !== 'default').length
  return ok('configuration', `${count} keys set, the rest default`)
}

/** Examines valid values and the files that they name. Changes nothing. */
export async function examineSettings(config: Config, origins: Origins, nowMilliseconds: number): Promise<Finding[]> {
  return [
    ...examineIssuerSecret(config, origins),
    ...examineCertificates(config, origins, nowMilliseconds),
    ...(await examineRecordingFolder(config, origins, nowMilliseconds)),
    ...examineAddressKeys(config),
    ...examineBankDetails(config),
    ...examineReview(config),
    ...examineSecondPersons(config),
    ...examinePegs(config),
    ...examineTransport(config),
    ...checkFindings('bus', checkBusFiles(config, origins), 'correct the path, or its mode'),
  ]
}

function examineBankDetails({ 'store.url': url, 'keys.encryption_key': key }: Config): Finding[] {
  if (url === '' || key !== '') return []
  const detail = 'fiat accounts cannot be registered: there is no key that encrypts their details'
  return [warn('bank details', detail, 'set keys.encryption_key on every node')]
}

function examineTransport({ 'store.url': url, feeds }: Config): Finding[] {
  const problem = transportProblem(url)
  return [
    ...(problem === undefined ? [] : [warn('store', problem, 'add sslmode=verify-full to store.url')]),
    ...feedTransportProblems(feeds).map((text) => warn('feeds', text, 'give the addresses with TLS')),
  ]
}

/**
 * Examines the sources of all markets: recordings, modules, and the venues' pairs and books.
 *
 * @param asksVenues false: no venue is contacted
 */
export async function examineSources(
  config: Config,
  origins: Origins,
  clock: Clock,
  asksVenues: boolean,
): Promise<Finding[]> {
  const name = 'sources'
  const recordings = checkFindings(name, await checkRecordings(config, origins), 'correct the path, or the market')
  const modules = checkFindings(name, await checkModules(config, origins, clock), 'correct the module, or its path')
  const venues = asksVenues ? await examineVenues(config, origins, clock) : []
  return [...recordings, ...modules, ...venues]
}

async function examineVenues(config: Config, origins: Origins, clock: Clock): Promise<Finding[]> {
  const name = 'sources'
  const [{ problems, warnings, goodCount }, notices] = await Promise.all([
    checkSources(config, origins, clock),
    checkBooks(config, clock),
  ])
  const next = 'use one of the venue’s pairs, or correct the market’s decimals'
  const otherwise = 'see the venue’s status page and this machine’s network connection'
  return [
    ...(goodCount > 0 ? [ok(name, `listed by their venues: ${goodCount}`)] : []),
    ...checkFindings(name, { problems, warnings: [] }, next),
    // A pair's restriction may be reported by the venue's list and again by its book.
    ...[...new Set([...warnings, ...notices])].map((text) => warn(name, text, nextOfConnection(text, otherwise))),
  ]
}
