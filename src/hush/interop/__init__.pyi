# Every public name of hush.interop, once. The door (hush/door.py) loads each from the module that is named here.

from hush.interop.dp_accounting_plugin import DpEventAccountant as DpEventAccountant
from hush.interop.events_read import from_dp_event as from_dp_event
from hush.interop.events_written import to_dp_event as to_dp_event
from hush.interop.opacus_history import from_opacus as from_opacus
from hush.interop.opacus_plugin import OpacusAccountant as OpacusAccountant
from hush.interop.opacus_plugin import register_with_opacus as register_with_opacus
