import { goldenHere } from '../../../../test/golden/golden-here.ts';

goldenHere(
  'facts',
  ['engines', 'roles', 'roles-one', 'config', 'completion', 'council'],
  { agents: [] }
);
