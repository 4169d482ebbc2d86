import { goldenHere } from '../../../test/golden/golden-here.ts';

goldenHere(
  'mistakes',
  ['command', 'flag', 'value', 'argument', 'engine-offered', 'id', 'role'],
  { agents: [] }
);
goldenHere('mistakes', ['workspace', 'client'], { agents: [] });
