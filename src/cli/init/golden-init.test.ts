import { goldenHere } from '../../../test/golden/golden-here.ts';

goldenHere('facts', ['init', 'init-dry-run'], { agents: [] });
