import { cancelAgent, dialog, help } from './parts/dialog.mjs';
import { go, path, query, setQuery, shownAgent } from './router.mjs';
import { copyId } from './save.mjs';
import { mayAct } from './session.mjs';
import { isActive, isFollowing, message, rowOf } from './store.mjs';
import { nextTheme } from './theme.mjs';

const screens = ['/', '/squads', '/council', '/workers', '/audit', '/spend'];

/** The same keys as `troupe watch`, where both have the command. */
export function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.peek()) return;
  const { target, key } = event;
  const isTyping = target.closest?.('input, textarea, select');
  if (isTyping) {
    if (key === 'Escape') leaveField(target);
    return;
  }
  const command =
    commands[key] ??
    (/^[1-6]$/.test(key) ? () => go(screens[key - 1]) : undefined);
  if (!command) return;
  event.preventDefault();
  message.value = { text: '', isError: false };
  command();
}

function leaveField(field) {
  if (field.type === 'search') setQuery('filter', '');
  field.blur();
}

const commands = {
  j: () => move(1),
  ArrowDown: () => move(1),
  k: () => move(-1),
  ArrowUp: () => move(-1),
  g: () => move(Number.NEGATIVE_INFINITY),
  G: () => move(Number.POSITIVE_INFINITY),
  '/': () => focusOn('input[type=search]'),
  Escape: back,
  x: cancel,
  c: cancel,
  r: () => focusOn('main textarea'),
  f: () => {
    isFollowing.value = !isFollowing.peek();
    say(
      isFollowing.peek() ? 'Following the output.' : 'Not following any more.'
    );
  },
  d: () => document.querySelector('#changes')?.scrollIntoView(),
  y: copy,
  t: nextTheme,
  '?': help
};

function say(text) {
  message.value = { text, isError: false };
}

function move(by) {
  const rows = [...document.querySelectorAll('main [data-row]')];
  if (rows.length === 0) return scrollBy({ top: 60 * Math.sign(by) });
  const index = rows.indexOf(document.activeElement);
  const next = index < 0 && by > 0 ? 0 : index + by;
  const row = rows[Math.min(rows.length - 1, Math.max(0, next))];
  row.focus();
  row.scrollIntoView({ block: 'nearest' });
}

function focusOn(selector) {
  const field = document.querySelector(selector);
  field?.focus();
  field?.scrollIntoView({ block: 'center' });
}

function back() {
  if (query.peek().get('filter')) setQuery('filter', '');
  else if (shownAgent.peek()) go('/');
  else if (path.peek() !== '/') go('/');
  else document.activeElement?.blur();
}

/** The agent of the open screen, or of the focused row. */
function chosen() {
  const id =
    shownAgent.peek() ??
    document.activeElement?.closest?.('[data-row]')?.dataset.row;
  return id === undefined ? undefined : rowOf(`agent:${id}`)?.peek();
}

function cancel() {
  const row = chosen();
  if (!row) return say('Choose an agent first: j and k.');
  if (!mayAct()) return say('This link is for looking only.');
  if (!isActive(row))
    return say(`${row.agent_id} has ended already (${row.status}).`);
  cancelAgent(row);
}

function copy() {
  const id = shownAgent.peek() ?? chosen()?.agent_id;
  if (id === undefined) return say('Choose an agent first: j and k.');
  copyId(id);
}
