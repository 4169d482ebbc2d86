import { effect, signal } from '@preact/signals';

const order = ['auto', 'light', 'dark'];
const stored = localStorage.getItem('theme');

export const theme = signal(order.includes(stored) ? stored : 'auto');

effect(() => {
  localStorage.setItem('theme', theme.value);
  document.documentElement.dataset.theme = theme.value;
});

export function nextTheme() {
  theme.value = order[(order.indexOf(theme.peek()) + 1) % order.length];
}
