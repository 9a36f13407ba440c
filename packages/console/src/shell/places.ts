/** The pages in the navigation and the command palette, with the call a person must be allowed to make. */
import type { IconName } from '../ui/icons.tsx'

export interface Place {
  readonly path: string
  readonly label: string
  readonly icon: IconName
  /** The key that opens it after `g`. */
  readonly key: string
  readonly needs: string
  /** Other words that find it. */
  readonly words?: string
}

export const PLACES: readonly Place[] = [
  { path: '/', label: 'Overview', icon: 'overview', key: 'o', needs: 'GET /overview', words: 'home status health' },
  { path: '/markets', label: 'Markets', icon: 'markets', key: 'm', needs: 'GET /markets', words: 'book ladder depth' },
  {
    path: '/customers',
    label: 'Customers',
    icon: 'customers',
    key: 'c',
    needs: 'GET /customers',
    words: 'clients secrets',
  },
  { path: '/usage', label: 'Usage', icon: 'usage', key: 'u', needs: 'GET /usage', words: 'metering messages bytes' },
  { path: '/plans', label: 'Plans', icon: 'plans', key: 'l', needs: 'GET /plans', words: 'tiers bounds depth rate' },
  {
    path: '/review',
    label: 'Review',
    icon: 'review',
    key: 'r',
    needs: 'GET /accounts',
    words: 'queue accounts rules approve waits',
  },
  {
    path: '/money',
    label: 'Money',
    icon: 'money',
    key: 'd',
    needs: 'GET /deposits',
    words: 'deposits deliveries pause',
  },
  { path: '/audit', label: 'Audit', icon: 'audit', key: 'a', needs: 'GET /audit', words: 'history who' },
  { path: '/settings', label: 'Settings', icon: 'settings', key: 's', needs: 'GET /settings', words: 'configuration' },
  { path: '/doctor', label: 'Doctor', icon: 'doctor', key: 'h', needs: 'GET /doctor', words: 'health checks findings' },
  {
    path: '/operators',
    label: 'Operators',
    icon: 'operators',
    key: 'p',
    needs: 'GET /operators',
    words: 'people roles',
  },
]

export function isAt(place: Place, path: string): boolean {
  return place.path === '/' ? path === '/' : path === place.path || path.startsWith(`${place.path}/`)
}
