# Every public name of hush.ledger, once. The door (hush/door.py) loads each from the module that is named here.

from hush.account import Account as Account
from hush.account import Charge as Charge
from hush.account import Reserved as Reserved
from hush.account import paid as paid
from hush.ledger.budget import Budget as Budget
from hush.ledger.filters.concentrated_filters import ApproximateZCDPFilter as ApproximateZCDPFilter
from hush.ledger.filters.concentrated_filters import ZCDPFilter as ZCDPFilter
from hush.ledger.filters.filter import Filter as Filter
from hush.ledger.filters.fixed_order import RenyiFilter as RenyiFilter
from hush.ledger.filters.gaussian_filter import GDPFilter as GDPFilter
from hush.ledger.filters.menu_filter import MenuFilter as MenuFilter
from hush.ledger.filters.mixture_filter import MixtureFilter as MixtureFilter
from hush.ledger.filters.pure_filter import PureFilter as PureFilter
from hush.ledger.ledger import Ledger as Ledger
from hush.ledger.odometer import Odometer as Odometer
from hush.ledger.price import Price as Price
from hush.ledger.standing import Standing as Standing
from hush.ledger.verification import Anchor as Anchor
from hush.ledger.verification import Verified as Verified
