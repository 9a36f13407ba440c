/**
 * The table of all configuration keys. Validation, flags, help, `check-config` and the reference page are generated
 * from it, and a test rejects keys that no code reads. Limits on connections, requests and bytes apply per node, quotas
 * and money amounts to all nodes together. Each topic has a file in `settings/`, and the topics are in the reference
 * page's order.
 */
import type { Setting } from './setting-kinds.ts'
import { ACCOUNTS_SETTINGS } from './settings/accounts.ts'
import { ASSETS_SETTINGS } from './settings/assets.ts'
import { AUTH_SETTINGS } from './settings/auth.ts'
import { BANKING_SETTINGS } from './settings/banking.ts'
import { BUS_SETTINGS } from './settings/bus.ts'
import { CANDLES_SETTINGS } from './settings/candles.ts'
import { CONVERSION_SETTINGS } from './settings/conversion.ts'
import { DELIVERIES_SETTINGS } from './settings/deliveries.ts'
import { DESTINATIONS_SETTINGS } from './settings/destinations.ts'
import { EVENTS_SETTINGS } from './settings/events.ts'
import { GATEWAY_SETTINGS } from './settings/gateway.ts'
import { HTTP_SETTINGS } from './settings/http.ts'
import { INGEST_SETTINGS } from './settings/ingest.ts'
import { LIMIT_SETTINGS } from './settings/limits.ts'
import { MARKETS_SETTINGS } from './settings/markets.ts'
import { METERING_SETTINGS } from './settings/metering.ts'
import { NOTICES_SETTINGS } from './settings/notices.ts'
import { OPERATOR_SETTINGS } from './settings/operator.ts'
import { ORCHESTRATION_SETTINGS } from './settings/orchestrations.ts'
import { PROCESS_SETTINGS } from './settings/process.ts'
import { QUOTAS_SETTINGS } from './settings/quotas.ts'
import { RECEIPTS_SETTINGS } from './settings/receipts.ts'
import { RECORDING_SETTINGS } from './settings/recording.ts'
import { REST_SETTINGS } from './settings/rest.ts'
import { REVIEW_SETTINGS } from './settings/review.ts'
import { SCREENING_SETTINGS } from './settings/screening.ts'
import { STORE_SETTINGS } from './settings/store.ts'
import { STREAM_SETTINGS } from './settings/stream.ts'
import { WEBHOOKS_SETTINGS } from './settings/webhooks.ts'

export const SETTINGS = {
  ...HTTP_SETTINGS,
  ...OPERATOR_SETTINGS,
  ...STORE_SETTINGS,
  ...MARKETS_SETTINGS,
  ...INGEST_SETTINGS,
  ...ASSETS_SETTINGS,
  ...BANKING_SETTINGS,
  ...CONVERSION_SETTINGS,
  ...ORCHESTRATION_SETTINGS,
  ...DELIVERIES_SETTINGS,
  ...ACCOUNTS_SETTINGS,
  ...DESTINATIONS_SETTINGS,
  ...LIMIT_SETTINGS,
  ...REVIEW_SETTINGS,
  ...SCREENING_SETTINGS,
  ...NOTICES_SETTINGS,
  ...EVENTS_SETTINGS,
  ...WEBHOOKS_SETTINGS,
  ...WEBHOOKS_SETTINGS,
  ...AUTH_SETTINGS,
  ...REST_SETTINGS,
  ...METERING_SETTINGS,
  ...QUOTAS_SETTINGS,
  ...STREAM_SETTINGS,
  ...CANDLES_SETTINGS,
  ...BUS_SETTINGS,
  ...GATEWAY_SETTINGS,
  ...RECEIPTS_SETTINGS,
  ...RECORDING_SETTINGS,
  ...PROCESS_SETTINGS,
} as const

export type SettingKey = keyof typeof SETTINGS

type ValueOf<Row> = Row extends Setting<infer Value> ? Value : never

/** Every key with its effective value. */
export type Config = { readonly [Key in SettingKey]: ValueOf<(typeof SETTINGS)[Key]> }

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[]

/** Whether a reload applies the key's new value. */
export function isLive(key: SettingKey): boolean {
  return (SETTINGS[key] as Setting<unknown>).live === true
}
