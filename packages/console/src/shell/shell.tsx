/** The frame around every page: navigation, the person, the theme, and the keys that work everywhere. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { plural } from '../base/format.ts'
import { href, location, navigate } from '../base/router.ts'
import { can, logOut, session } from '../base/session.ts'
import { isDark, setTheme } from '../base/theme.ts'
import { Icon } from '../ui/icons.tsx'
import { Time } from '../ui/parts.tsx'
import { moveBetweenRows } from '../ui/table.tsx'
import { Keys } from './keys.tsx'
import { Palette } from './palette.tsx'
import { isAt, PLACES } from './places.ts'

/** The tab's storage key for the failed logins already seen, which it identifies by the time of the last one. */
const SEEN_KEY = 'tidegate-failed-logins'

type Overlay = 'palette' | 'keys' | undefined

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [overlay, setOverlay] = useState<Overlay>()
  const { path } = location.value
  useLayoutEffect(() => setMenuOpen(false), [path])
  useKeys(setOverlay)
  // The event of a closed dialog comes later, perhaps when the other one is open.
  const close = (closed: Overlay) => setOverlay((shown) => (shown === closed ? undefined : shown))
  return (
    <div class={`shell ${isMenuOpen ? 'menu-open' : ''}`}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <button
          type="button"
          class="bare menu"
          aria-label="Navigation"
          aria-expanded={isMenuOpen}
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Icon name={isMenuOpen ? 'close' : 'menu'} size={20} />
        </button>
        <Brand />
        <button type="button" class="bare" aria-label="Search" onClick={() => setOverlay('palette')}>
          <Icon name="search" size={20} />
        </button>
      </header>
      <aside class="side">
        <Brand />
        <button type="button" class="find" onClick={() => setOverlay('palette')}>
          <Icon name="search" />
          <span>Find or go to</span>
          <kbd>/</kbd>
        </button>
        <nav aria-label="Pages">
          {PLACES.filter(({ needs }) => can(needs)).map((place) => (
            <a key={place.path} href={href(place.path)} aria-current={isAt(place, path) ? 'page' : undefined}>
              <Icon name={place.icon} size={17} />
              {place.label}
            </a>
          ))}
        </nav>
        <Person showKeys={() => setOverlay('keys')} />
      </aside>
      <main id="content">
        <FailedLogins />
        {children}
      </main>
      {overlay === 'palette' && <Palette close={() => close('palette')} />}
      {overlay === 'keys' && <Keys close={() => close('keys')} />}
    </div>
  )
}

/** Failed attempts with the person's name since the previous login, until the person has seen them. */
function FailedLogins() {
  const failed = session.value?.failed_logins
  const [seen, setSeen] = useState(() => sessionStorage.getItem(SEEN_KEY))
  if (failed === undefined || seen === failed.last_at) return null
  const see = () => {
    sessionStorage.setItem(SEEN_KEY, failed.last_at)
    setSeen(failed.last_at)
  }
  return (
    <div class="notice" role="status">
      {plural(failed.count, 'attempt')} to log in with your name failed since your last login, the last at{' '}
      <Time at={failed.last_at} exact />. If they were not yours, tell an administrator: the{' '}
      <a href={href(`/audit?subject=${session.value?.operator.name}`)}>audit</a> has the addresses.{' '}
      <button type="button" onClick={see}>
        I have seen it
      </button>
    </div>
  )
}

function Brand() {
  return (
    <a class="brand" href={href('/')} aria-label="Tidegate, overview">
      <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
        <path class="gate-mark" d="M4 21V9a8 8 0 0 1 16 0v12" />
        <path class="tide-mark" d="M4 15c2.7-2 5.3-2 8 0s5.3 2 8 0M4 19.5c2.7-2 5.3-2 8 0s5.3 2 8 0" />
      </svg>
      Tidegate
    </a>
  )
}

function Person({ showKeys }: { readonly showKeys: () => void }) {
  const { operator } = session.value ?? { operator: undefined }
  return (
    <div class="person">
      <div class="who">
        <strong>
          <a href={href('/login')} aria-current={location.value.path === '/login' ? 'page' : undefined}>
            {operator?.name}
          </a>
        </strong>
        <span class="quiet">{operator?.role}</span>
      </div>
      <div class="person-actions">
        <button
          type="button"
          class="bare"
          aria-label={isDark.value ? 'Light colours' : 'Dark colours'}
          onClick={() => setTheme(isDark.value ? 'light' : 'dark')}
        >
          <Icon name={isDark.value ? 'sun' : 'moon'} />
        </button>
        <button type="button" class="bare" aria-label="Keyboard shortcuts" onClick={showKeys}>
          <kbd>?</kbd>
        </button>
        {session.value?.via === 'session' && (
          <button type="button" class="bare text" onClick={() => void logOut()}>
            Log out
          </button>
        )}
      </div>
    </div>
  )
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, dialog') !== null
}

/** The keys: `/` and Ctrl K find, `?` lists the keys, `g` and a letter open a page, `j` and `k` move between rows. */
function useKeys(setOverlay: (overlay: Overlay) => void): void {
  useEffect(() => {
    let hasPressedG = false
    const onKey = (event: KeyboardEvent) => {
      const { key } = event
      if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === 'k') {
        event.preventDefault()
        setOverlay('palette')
        return
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const place = hasPressedG ? PLACES.find((each) => each.key === key && can(each.needs)) : undefined
      hasPressedG = key === 'g'
      if (place !== undefined) navigate(place.path)
      else if (key === '/') setOverlay('palette')
      else if (key === '?') setOverlay('keys')
      else if (key === 'j' || key === 'k') moveBetweenRows(key === 'j' ? 1 : -1)
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [setOverlay])
}
