import { computed, signal } from '@preact/signals';

/** The address: path and query decide what is shown. */
const address = signal(here());

function here() {
  return location.pathname + location.search;
}

addEventListener('popstate', () => {
  address.value = here();
});

export const path = computed(() => address.value.split('?')[0]);

export const query = computed(
  () => new URLSearchParams(address.value.split('?')[1] ?? '')
);

/** The id of the agent whose screen is shown. */
export const shownAgent = computed(
  () => /^\/agents\/([0-9a-f]{8})$/.exec(path.value)?.[1]
);

export function go(to) {
  if (to === address.peek()) return;
  history.pushState(null, '', to);
  address.value = here();
  scrollTo(0, 0);
  setTimeout(keepFocus);
}

/** After the new screen is drawn: what had the focus may be gone. */
function keepFocus() {
  if (document.activeElement === document.body)
    document.querySelector('#main')?.focus({ preventScroll: true });
}

/** Changes a part of the query, without another entry in the history. */
export function setQuery(name, value) {
  const next = new URLSearchParams(query.peek());
  if (value === '') next.delete(name);
  else next.set(name, value);
  const text = next.toString();
  history.replaceState(null, '', path.peek() + (text === '' ? '' : `?${text}`));
  address.value = here();
}

/** Links within the page need no reload; all others do what they always do. */
export function onClick(event) {
  const link = event.target.closest?.('a');
  const isPlain =
    event.button === 0 &&
    !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  const isOurs = link && !link.target && link.origin === location.origin;
  if (!isPlain || !isOurs || link.hash !== '') return;
  event.preventDefault();
  go(link.pathname + link.search);
}
