/** Dark or light: the system's preference, or the person's choice on this machine. */
import { computed, effect, signal } from '@preact/signals'

export type Choice = 'system' | 'light' | 'dark'

const KEY = 'tidegate-theme'
const preference = window.matchMedia('(prefers-color-scheme: dark)')
const systemIsDark = signal(preference.matches)

const themeChoice = signal<Choice>(readChoice())
export const isDark = computed(() =>
  themeChoice.value === 'system' ? systemIsDark.value : themeChoice.value === 'dark',
)

export function startTheme(): void {
  preference.addEventListener('change', ({ matches }) => {
    systemIsDark.value = matches
  })
  effect(() => {
    document.documentElement.dataset.theme = isDark.value ? 'dark' : 'light'
  })
}

export function setTheme(choice: Choice): void {
  themeChoice.value = choice
  try {
    localStorage.setItem(KEY, choice)
  } catch {
    // A browser without storage keeps the choice until the page is closed.
  }
}

function readChoice(): Choice {
  try {
    const kept = localStorage.getItem(KEY)
    return kept === 'light' || kept === 'dark' ? kept : 'system'
  } catch {
    return 'system'
  }
}

/** A style-sheet colour for charts, which draw on a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}
